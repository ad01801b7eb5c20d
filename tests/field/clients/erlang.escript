#!/usr/bin/env escript
%% Erlang's ssh: see test_clients.py for what a client does here. It finds key and known hosts in ~/.ssh.

variable(Name) -> os:getenv("CLIENT_" ++ Name).

transfer(Connection) ->
    {ok, Channel} = ssh_sftp:start_channel(Connection),
    {ok, Data} = file:read_file(variable("UP")),
    ok = ssh_sftp:write_file(Channel, variable("FAR"), Data),
    {ok, Back} = ssh_sftp:read_file(Channel, variable("FAR")),
    ok = file:write_file(variable("DOWN"), Back),
    ssh_sftp:stop_channel(Channel).

wait(Connection, Channel, Status) ->
    receive
        {ssh_cm, Connection, {data, Channel, _, Data}} ->
            io:put_chars(Data),
            wait(Connection, Channel, Status);
        {ssh_cm, Connection, {exit_status, Channel, Number}} -> wait(Connection, Channel, Number);
        {ssh_cm, Connection, {closed, Channel}} -> Status;
        {ssh_cm, Connection, _} -> wait(Connection, Channel, Status)
    after 60000 -> 255
    end.

run(Connection) ->
    {ok, Channel} = ssh_connection:session_channel(Connection, 60000),
    success = ssh_connection:exec(Connection, Channel, variable("COMMAND"), 60000),
    wait(Connection, Channel, 255).

main(_) ->
    {ok, _} = application:ensure_all_started(ssh),
    case ssh:connect("127.0.0.1", list_to_integer(variable("PORT")),
                     [{user, variable("USER")}, {user_dir, os:getenv("HOME") ++ "/.ssh"},
                      {silently_accept_hosts, false}, {user_interaction, false}], 60000) of
        {ok, Connection} ->
            transfer(Connection),
            halt(run(Connection));
        {error, Reason} ->
            io:format(standard_error, "~p~n", [Reason]),
            halt(255)
    end.

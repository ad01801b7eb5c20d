// ssh2 of npm: see test_clients.py for what a client does here.
"use strict";
const fs = require("fs");
const { Client } = require("ssh2");

const from = (name) => process.env["CLIENT_" + name];

function run(client) {
  client.exec(from("COMMAND"), (error, stream) => {
    if (error) throw error;
    stream.pipe(process.stdout);
    stream.on("exit", (status) => { process.exitCode = status; });
    stream.on("close", () => client.end());
  });
}

const client = new Client();
client.on("ready", () => {
  client.sftp((error, sftp) => {
    if (error) throw error;
    sftp.fastPut(from("UP"), from("FAR"), (failure) => {
      if (failure) throw failure;
      sftp.fastGet(from("FAR"), from("DOWN"), (other) => {
        if (other) throw other;
        run(client);
      });
    });
  });
});
client.connect({
  host: "127.0.0.1",
  port: Number(from("PORT")),
  username: from("USER"),
  privateKey: fs.readFileSync(from("KEY")),
  hostVerifier: (key) => key.toString("base64") === from("HOST_KEY"),
});

# net-ssh: see test_clients.py for what a client does here.
gem "net-ssh", "~> 7.3"
require "net/sftp"
require "net/ssh"

port, user, key, host_key, command, up, far, down =
  %w[PORT USER KEY HOST_KEY COMMAND UP FAR DOWN].map { |name| ENV.fetch("CLIENT_" + name) }

# Accepts the one host key that is right.
class Known
  def initialize(expected)
    @expected = expected
  end

  def verify(arguments)
    [arguments[:key_blob]].pack("m0") == @expected
  end

  def verify_signature
    yield
  end
end

Net::SSH.start("127.0.0.1", user, port: port.to_i, keys: [key], keys_only: true, config: false, use_agent: false,
               verify_host_key: Known.new(host_key)) do |ssh|
  ssh.sftp.upload!(up, far)
  ssh.sftp.download!(far, down)
  done = ssh.exec!(command)
  print done
  exit done.exitstatus
end

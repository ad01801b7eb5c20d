// Drives the client ssh2 of npm for test_node_ssh2.py: node node_ssh2.js PORT USER KEY-FILE FOLDER. Prints one line for
// each step that has held; the first that has not ends it with status 1.
"use strict";
const { Client } = require("ssh2");
const assert = require("assert");
const crypto = require("crypto");
const fs = require("fs");

const [port, username, keyFile, folder] = process.argv.slice(2);

function connect() {
  return new Promise((resolve, reject) => {
    const client = new Client();
    client.on("ready", () => resolve(client)).on("error", reject).connect({
      host: "127.0.0.1", port: Number(port), username, privateKey: fs.readFileSync(keyFile), agent: undefined,
      readyTimeout: 60000, keepaliveInterval: 300, keepaliveCountMax: 20,
      hostVerifier: (key) => key.includes("ssh-ed25519"),
    });
  });
}

function collect(stream) {
  return new Promise((resolve) => {
    const out = [], errors = [];
    stream.on("data", (data) => out.push(data));
    stream.stderr.on("data", (data) => errors.push(data));
    stream.on("close", (code, signal) => resolve({ out: Buffer.concat(out), errors: Buffer.concat(errors), code, signal }));
  });
}

function exec(client, command, options = {}) {
  return new Promise((resolve, reject) => {
    client.exec(command, options, (error, stream) => (error ? reject(error) : resolve(stream)));
  });
}

async function run(client, command, input = "", options = {}) {
  const stream = await exec(client, command, options);
  const done = collect(stream);
  stream.end(input);
  return done;
}

async function programs(client) {
  const data = crypto.randomBytes(3000000);
  const done = await run(client, "cat; echo err >&2; exit 7", data);
  assert(done.out.equals(data) && done.errors.toString() === "err\n" && done.code === 7);
  const many = await Promise.all([...Array(14).keys()].map((n) => run(client, `cat; exit ${n}`, `${n}`.repeat(20000))));
  many.forEach((one, n) => assert(one.out.toString() === `${n}`.repeat(20000) && one.code === n));
}

async function tooMany(client) {
  const held = [];
  for (let n = 0; n < 16; n++) held.push(await exec(client, "cat"));
  await assert.rejects(exec(client, "cat"), /open/i);
  const ends = held.map(collect);
  held.forEach((stream) => stream.end());
  assert((await Promise.all(ends)).every((end) => end.code === 0));
}

async function signals(client) {
  const stream = await exec(client, "exec sleep 1000");
  const done = collect(stream);
  stream.signal("TERM");
  assert.strictEqual((await done).signal, "SIGTERM");
}

async function terminal(client) {
  const stream = await new Promise((resolve, reject) => {
    client.shell({ rows: 31, cols: 91, term: "vt100" }, (error, shell) => (error ? reject(error) : resolve(shell)));
  });
  const done = collect(stream);
  stream.write("stty size; read x\n");
  await new Promise((resolve) => {
    stream.on("data", function seen(data) {
      if (data.includes("31 91")) { stream.removeListener("data", seen); resolve(); }
    });
  });
  stream.setWindow(40, 120, 0, 0);
  stream.write("\nstty size; exit 5\n");
  const end = await done;
  assert(/40 120/.test(end.out.toString()) && end.code === 5);
}

async function rekeys(client) {
  const data = crypto.randomBytes(200000);
  for (let n = 0; n < 3; n++) {
    const done = run(client, "cat", data);
    const exchanged = new Promise((resolve) => client.once("handshake", resolve));
    client._protocol.rekey();  // the client has no method for it
    await exchanged;
    assert((await done).out.equals(data));
  }
}

async function sftp(client) {
  const session = await new Promise((resolve, reject) => {
    client.sftp((error, made) => (error ? reject(error) : resolve(made)));
  });
  const call = (name, ...args) => new Promise((resolve, reject) => {
    session[name](...args, (error, result) => (error ? reject(error) : resolve(result)));
  });
  const data = crypto.randomBytes(1500000), path = `${folder}/file`;
  await call("writeFile", path, data);
  assert((await call("readFile", path)).equals(data));
  assert.strictEqual((await call("stat", path)).size, data.length);
  await call("ext_openssh_rename", path, `${folder}/renamed`);
  assert.deepStrictEqual((await call("readdir", folder)).map((entry) => entry.filename).filter((name) => name[0] !== "."),
                         ["renamed"]);
  await assert.rejects(call("stat", path), /No such file/);
  await call("unlink", `${folder}/renamed`);
  session.end();
}

async function refusals(client) {
  await assert.rejects(new Promise((resolve, reject) => {
    client.forwardOut("127.0.0.1", 1, "127.0.0.1", 2, (error, stream) => (error ? reject(error) : resolve(stream)));
  }), /prohibited|open/i);
  await assert.rejects(new Promise((resolve, reject) => {
    client.forwardIn("127.0.0.1", 0, (error, bound) => (error ? reject(error) : resolve(bound)));
  }), /forward|bind/i);
  assert.strictEqual((await run(client, "echo on")).out.toString(), "on\n");
}

async function main() {
  const client = await connect();
  for (const step of [programs, tooMany, signals, terminal, rekeys, sftp, refusals]) {
    await step(client);
    console.log(step.name);
  }
  client.end();
}

main().catch((error) => { console.error(error); process.exit(1); });

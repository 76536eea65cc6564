import assert from "node:assert/strict";
import { connect, createServer, type Socket } from "node:net";
import { test } from "node:test";
import { until } from "../../testing/index.ts";
import { startBalancer } from "./balancer.ts";
import { freePorts } from "./dev-nodes.ts";
import { onLoopback } from "../../../test/on-loopback.ts";

interface Named extends AsyncDisposable {
  readonly port: number;
  readonly open: Set<Socket>;
}

/** Says its name, then says back what it hears, and ends when the other side does. */
const named = async (name: string, port = 0): Promise<Named> => {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    socket.on("error", () => undefined);
    socket.write(`${name}:`);
    socket.pipe(socket);
  });
  return { open, ...(await onLoopback(server, port)) };
};

const at = (port: number): { readonly host: string; readonly port: number } => ({ host: "127.0.0.1", port });

interface Talk extends Disposable {
  readonly socket: Socket;
  readonly heard: () => string;
  readonly ended: Promise<void>;
}

const talk = (port: number): Talk => {
  const socket = connect(port, "127.0.0.1");
  let heard = "";
  socket.on("data", (chunk: Buffer) => (heard += chunk.toString()));
  socket.on("error", () => undefined);
  return {
    socket,
    heard: () => heard,
    ended: new Promise<void>((done) => void socket.once("close", () => done())),
    [Symbol.dispose]: () => void socket.destroy(),
  };
};

const nameHeard = async (conversation: Talk): Promise<string> => {
  await until("a name is heard", () => conversation.heard().includes(":"));
  return conversation.heard().split(":")[0] ?? "";
};

test("connections are spread over the targets, and pass bytes both ways until one side ends", async () => {
  await using a = await named("a");
  await using b = await named("b");
  await using balancer = await startBalancer(at(0), [at(a.port), at(b.port)]);
  using first = talk(balancer.port);
  using second = talk(balancer.port);
  using third = talk(balancer.port);
  using fourth = talk(balancer.port);
  const names = await Promise.all([first, second, third, fourth].map(nameHeard));
  assert.deepEqual(names.toSorted(), ["a", "a", "b", "b"]);
  const long = "x".repeat(1_000_000);
  first.socket.end(long);
  await first.ended;
  assert.equal(first.heard(), `${names[0]}:${long}`);
});

test("a target that refuses is skipped, and gets the next connections when it is back", async () => {
  await using a = await named("a");
  const [free = 0] = await freePorts(1);
  await using balancer = await startBalancer(at(0), [at(a.port), at(free)]);
  using first = talk(balancer.port);
  using second = talk(balancer.port);
  assert.deepEqual(await Promise.all([first, second].map(nameHeard)), ["a", "a"]);
  await using _ = await named("b", free);
  using third = talk(balancer.port);
  assert.equal(await nameHeard(third), "b");
  using fourth = talk(balancer.port);
  assert.equal(await nameHeard(fourth), "b");
});

test("a target's death ends its connections only; without any target connections end at once", async () => {
  const a = await named("a");
  const b = await named("b");
  await using balancer = await startBalancer(at(0), [at(a.port), at(b.port)]);
  using first = talk(balancer.port);
  using second = talk(balancer.port);
  const [name] = await Promise.all([first, second].map(nameHeard));
  const [dying, living, other] = name === "a" ? [a, first, second] : [b, first, second];
  await dying[Symbol.asyncDispose]();
  await living.ended;
  other.socket.write("still");
  await until("the other goes on", () => other.heard().endsWith("still"));
  await (dying === a ? b : a)[Symbol.asyncDispose]();
  await other.ended;
  using last = talk(balancer.port);
  await last.ended;
  assert.equal(last.heard(), "");
});

test("a client's end closes its connection to the target; stopAccepting keeps open connections", async () => {
  await using a = await named("a");
  const balancer = await startBalancer(at(0), [at(a.port)]);
  using first = talk(balancer.port);
  using second = talk(balancer.port);
  await Promise.all([first, second].map(nameHeard));
  first.socket.destroy();
  await until("the target has one left", () => a.open.size === 1);
  balancer.stopAccepting();
  using refused = talk(balancer.port);
  await refused.ended;
  assert.equal(refused.heard(), "");
  second.socket.write("still");
  await until("the other goes on", () => second.heard().endsWith("still"));
  await balancer[Symbol.asyncDispose]();
  await second.ended;
});

test("a port in use is reported in a sentence", async () => {
  await using a = await named("a");
  await assert.rejects(startBalancer(at(a.port), []), { code: "BAD_ADDRESS", message: /127\.0\.0\.1:\d+.*Choose another port/ });
});

test("a target that hangs loses its connections and gets none until it answers", async () => {
  await using a = await named("a");
  await using b = await named("b");
  let hung = 0;
  await using balancer = await startBalancer(at(0), [at(a.port), at(b.port)], async ({ port }) => port !== hung);
  using first = talk(balancer.port);
  using second = talk(balancer.port);
  const [one, other] = (await nameHeard(first)) === "a" ? [first, second] : [second, first];
  assert.deepEqual([await nameHeard(one), await nameHeard(other)], ["a", "b"]);
  hung = b.port;
  await other.ended;
  for (let n = 0; n < 3; n += 1) {
    using next = talk(balancer.port);
    assert.equal(await nameHeard(next), "a");
  }
  assert.equal(one.socket.destroyed, false);
  hung = 0;
  await until("the other gets connections again", async () => {
    using next = talk(balancer.port);
    return (await nameHeard(next)) === "b";
  });
});

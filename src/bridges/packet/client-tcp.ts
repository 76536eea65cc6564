import { BadLine, ClientLines } from "./client-lines.ts";
import { reasonFor } from "./client-error.ts";
import { errorIn } from "./client-reply.ts";
import type { Wire, WireOptions } from "./client-wire.ts";
import type { PacketError } from "./packet-error.ts";
import { PACKET_VERSION } from "./packet.ts";
import { readReply } from "./read-reply.ts";

/** Where a packet carries the token of a TCP connection: in its `metadata`, and only in the first of the connection. */
const AUTHORIZATION_KEY = "troupe/authorization";

/** `tcp://host:port`: one packet a line. With a token it is open when the server has taken that. */
export function openTcp({ url, token, maxChars, connectMs, clock, signal, heard, ended }: WireOptions): Promise<Wire> {
  // Not an import: whatever bundles this for a browser must not look for it.
  const { connect } = globalThis.process.getBuiltinModule("node:net");
  const { promise, resolve, reject } = Promise.withResolvers<Wire>();
  const socket = connect({ host: url.hostname.replace(/^\[|\]$/g, ""), port: Number(url.port) });
  const lines = new ClientLines(maxChars);
  let isOpen = false;
  let isOver = false;
  let refused: PacketError | undefined;

  const over = (why: string): void => {
    if (isOver) return;
    isOver = true;
    undoLate();
    signal.removeEventListener("abort", unwanted);
    socket.destroy();
    if (isOpen && !signal.aborted) ended(why);
    else reject(refused ?? new Error(why));
  };
  const unwanted = (): void => over("it is not wanted any more");
  const read = (take: () => readonly string[]): void => {
    try {
      for (const line of take()) {
        if (isOver) return;
        if (isOpen) heard(line);
        else introduced(line);
      }
    } catch (error) {
      if (!(error instanceof BadLine)) throw error;
      over(error.message);
    }
  };
  const undoLate = clock.after(connectMs, () => over(`no connection within ${connectMs} ms`));

  signal.addEventListener("abort", unwanted, { once: true });
  socket.setNoDelay(true);
  socket.setKeepAlive(true, 60_000);
  socket.on("data", (chunk: Buffer) => read(() => lines.push(chunk)));
  socket.on("end", () => {
    read(() => lines.end());
    over("the server ended the connection");
  });
  socket.on("error", (error) => over(reasonFor(error)));
  socket.on("close", () => over("the connection was closed"));
  socket.on("connect", () => {
    if (token === undefined) opened();
    else socket.write(`${introduction(token)}\n`);
  });

  function opened(): void {
    undoLate();
    isOpen = true;
    resolve({ send: (text) => void socket.write(`${text}\n`) });
  }

  // A packet of a stranger may be short only, and those behind it are lost where the token is refused: so the token goes ahead, alone.
  function introduced(line: string): void {
    const packet = readReply(line);
    if (packet?.type === "heartbeat") return opened();
    if (packet?.type === "capability_error") refused = errorIn(packet);
    over("the server took no token: is this the address of packets?");
  }
  return promise;
}

const introduction = (token: string): string =>
  JSON.stringify({ version: PACKET_VERSION, type: "heartbeat", metadata: { [AUTHORIZATION_KEY]: `Bearer ${token}` } });

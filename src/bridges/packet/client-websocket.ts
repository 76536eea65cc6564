import { PACKET_PROTOCOL } from "./endpoints.ts";
import type { Wire, WireOptions } from "./client-wire.ts";

/** `ws://` and `wss://`: one packet a text frame. */
export function openWebSocket({ url, token, maxChars, connectMs, clock, signal, heard, ended }: WireOptions): Promise<Wire> {
  const { promise, resolve, reject } = Promise.withResolvers<Wire>();
  const socket = make(url, token);
  let isOpen = false;
  let isOver = false;

  const over = (why: string): void => {
    if (isOver) return;
    isOver = true;
    undoLate();
    signal.removeEventListener("abort", unwanted);
    socket.close();
    if (isOpen && !signal.aborted) ended(why);
    else reject(new Error(why));
  };
  const unwanted = (): void => over("it is not wanted any more");
  const undoLate = clock.after(connectMs, () => over(`no connection within ${connectMs} ms`));

  signal.addEventListener("abort", unwanted, { once: true });
  socket.addEventListener("message", (event) => {
    const data: unknown = event.data;
    if (isOver) return;
    if (typeof data !== "string") over("It sent a frame that is no text.");
    else if (data.length > maxChars) over(`It sent a frame of more than ${maxChars} characters.`);
    else heard(data);
  });
  // It does not say why: an address that is none, a token that is not taken, and a server that is away look alike.
  socket.addEventListener("error", () => over("no WebSocket came about, or it broke: look at the address, the token and the server"));
  socket.addEventListener("close", ({ code, reason }) =>
    over(`the server closed the WebSocket (${code}${reason === "" ? "" : `, ${reason}`})`),
  );
  socket.addEventListener("open", () => {
    if (isOver) return;
    undoLate();
    isOpen = true;
    resolve({ send: (text) => socket.send(text) });
  });
  return promise;
}

function make(url: URL, token: string | undefined): WebSocket {
  if (token === undefined) return new WebSocket(url, [PACKET_PROTOCOL]);
  if (typeof globalThis.process?.versions?.node !== "string")
    throw new Error("a browser's WebSocket sends no token: use the http address instead");
  return new WebSocket(url, { protocols: [PACKET_PROTOCOL], headers: { authorization: `Bearer ${token}` } });
}

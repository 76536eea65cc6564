// Clients that open and then do nothing, or read nothing any more, in a process of their own, so that what they hold is not counted as the server's.
import { connect, type Socket } from "node:net";
import { bench } from "./idle-requests.ts";

const held: Socket[] = [];
const AT_ONCE = 64;

/** One connection for `requests`, one after the other; their answers' heads. */
const asking = (port: number, requests: readonly ((heads: readonly string[]) => string)[]): Promise<readonly string[]> =>
  new Promise((resolve, reject) => {
    const heads: string[] = [];
    const socket = connect(port, "127.0.0.1").setEncoding("latin1").setNoDelay(true);
    let text = "";
    const next = (): void => {
      const request = requests[heads.length];
      if (request === undefined) {
        socket.destroy();
        resolve(heads);
      } else socket.write(request(heads));
    };
    socket.on("error", reject);
    socket.on("connect", next);
    socket.on("data", (chunk: string) => {
      text += chunk;
      const end = text.indexOf("\r\n\r\n");
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
      if (end < 0 || text.length < end + 4 + length) return;
      heads.push(text.slice(0, end));
      text = "";
      next();
    });
  });

/** A connection that has its stream's first bytes, and stays; a mute one reads nothing after them. */
const holding = (port: number, request: string, first: string, mute = false): Promise<void> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1").setEncoding("latin1");
    held.push(socket);
    let text = "";
    socket.on("error", reject);
    socket.on("connect", () => socket.write(request));
    socket.on("close", () => reject(new Error(`A stream ended: ${text.slice(0, 300)}`)));
    socket.on("data", (chunk: string) => {
      text += text.length < 2_000 ? chunk : "";
      if (!text.includes(first)) return;
      if (mute) socket.pause();
      resolve();
    });
  });

const each = async <T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> => {
  const left = items.values();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const item of left) await act(item);
    }),
  );
};

const sessions: string[] = [];

const acts: Readonly<Record<string, (port: number, count: number) => Promise<void>>> = {
  async sessions(port, count) {
    sessions.length = 0;
    // A connection for a hundred of them: who is idle has none.
    await each(
      Array.from({ length: Math.ceil(count / 100) }, (_, n) => Math.min(100, count - n * 100)),
      async (many) => {
        const pair = [
          (): string => bench.initialize(port),
          (heads: readonly string[]): string => bench.initialized(port, idIn(heads.at(-1))),
        ];
        const heads = await asking(port, Array.from({ length: many }, () => pair).flat());
        sessions.push(...heads.filter((_, at) => at % 2 === 0).map(idIn));
      },
    );
  },
  get: (port) => each(sessions, (id) => holding(port, bench.get(port, id), "\n\n")),
  listen: (port, count) => each(Array.from({ length: count }), () => holding(port, bench.listen(port), "acknowledged")),
  bare: (port, count) => each(Array.from({ length: count }), () => holding(port, bench.listen(port), "acknowledged")),
  "mute-get": (port) => each(sessions, (id) => holding(port, bench.get(port, id), "\n\n", true)),
  "mute-listen": (port, count) => each(Array.from({ length: count }), () => holding(port, bench.listen(port), "acknowledged", true)),
  "mute-call": (port) => each(sessions, (id) => holding(port, bench.call(port, id, "dig", { progressToken: 1 }), "progress", true)),
  "mute-line": (port, count) => each(Array.from({ length: count }), () => holding(port, bench.lines, '"tools":[', true)),
  async leave() {
    for (const socket of held.splice(0)) socket.removeAllListeners("close").destroy();
  },
};

const idIn = (head: string | undefined): string => {
  const id = /mcp-session-id: (\S+)/i.exec(head ?? "")?.[1];
  if (id === undefined) throw new Error(`No session: ${head ?? ""}`);
  return id;
};

process.on("message", (message: unknown) => {
  const { act, port, count } = Object(message);
  acts[String(act)]?.(Number(port), Number(count)).then(
    () => process.send?.({ done: true }),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
process.on("disconnect", () => process.exit());

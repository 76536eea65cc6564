// Tables of figures made from bench/baseline.json: all of them for docs/benchmarks.md, four for README. A row that misses its limit is marked.
import type { Figures } from "./figures.ts";
import type { Summary } from "./row.ts";

/** A number with the given count of significant digits. */
export const rounded = (value: number, digits: number): string => {
  const short = value.toPrecision(digits);
  return Math.abs(value) < 1_000 && !short.includes("e") ? short : Number(short).toLocaleString("en");
};

/** A row of the baseline, formatted for a table. */
class FormattedRow {
  readonly #name: string;
  readonly #row: Summary;

  constructor(name: string, row: Summary) {
    this.#name = JSON.stringify(name);
    this.#row = row;
  }

  of(digits = 2): string {
    return rounded(this.#row.median, digits);
  }

  least(digits = 2): string {
    return rounded(this.#row.min, digits);
  }

  floor(digits = 2): string {
    return rounded(this.#its("floor"), digits);
  }

  /** A ratio close to 1, to the hundredth. */
  get ratio(): string {
    return this.#row.median.toFixed(2);
  }

  /** A ratio to a peer. Includes the range if the rounds differ by more than a factor of two. */
  get times(): string {
    const { min, max } = this.#row;
    return max > 2 * min ? `${this.of()} (${rounded(min, 2)} to ${rounded(max, 2)})` : this.of();
  }

  get cpu(): string {
    return rounded(this.#its("cpuUs"), 3);
  }

  get median(): number {
    return this.#row.median;
  }

  /** The limit, marked with ✗ if the row misses it. */
  aim(unit = ""): string {
    const { limit, ok } = this.#row;
    if (limit === undefined) throw new Error(`bench/baseline.json has no limit for ${this.#name}.`);
    return `${limit}${unit === "" ? "" : ` ${unit}`}${ok === false ? " ✗" : ""}`;
  }

  #its(part: "floor" | "cpuUs"): number {
    const value = this.#row[part];
    if (value === undefined) throw new Error(`bench/baseline.json has no ${part} for ${this.#name}.`);
    return value;
  }
}

/** Throws if the bench has no such row. */
const rowsOf =
  (figures: Figures, bench: string, prefix = "") =>
  (row: string): FormattedRow => {
    const found = figures[bench]?.[prefix + row];
    if (found === undefined) throw new Error(`bench/baseline.json has no ${JSON.stringify(prefix + row)} of ${bench}.`);
    return new FormattedRow(prefix + row, found);
  };

/** The distinct limits of several rows. */
const aims = (rows: readonly FormattedRow[], unit = ""): string => [...new Set(rows.map((row) => row.aim(unit)))].join(", ");

/** The limit of several rows with one limit: that of a row that misses it, if there is one. */
const worst = (rows: readonly FormattedRow[], unit = ""): string => {
  const all = rows.map((row) => row.aim(unit));
  return all.find((aim) => aim.endsWith("✗")) ?? all[0] ?? "";
};

/** The range of several rows. */
const span = (rows: readonly FormattedRow[], digits = 2): string => {
  const inOrder = rows.toSorted((one, other) => one.median - other.median);
  const [first, last] = [inOrder[0], inOrder.at(-1)];
  if (first === undefined || last === undefined) throw new Error("bench/baseline.json has none of the rows of a span.");
  return `${first.of(digits)} to ${last.of(digits)}`;
};

const http = (figures: Figures): readonly string[][] => {
  const call = rowsOf(figures, "http-call", "tools/call over HTTP: ");
  const peer = rowsOf(figures, "http-peers", "tools/call over HTTP: ");
  const tail = rowsOf(figures, "tail", "tools/call at half of peak: ");
  const list = rowsOf(figures, "tools-list", "tools/list of 50: ");
  const [session, modern] = [call("memory, in a session"), call("memory, 2026-07-28")];
  const [ofSession, ofModern] = [call("memory, in a session, of the echo"), call("memory, 2026-07-28, of the echo")];
  const [each, hot] = [call("on disk, an actor for each connection"), call("on disk, one actor for all")];
  const [ofEach, ofHot] = [call("on disk, an actor for each connection, of the echo"), call("on disk, one actor for all, of the echo")];
  const [tailSession, tailModern] = [
    tail("memory, in a session, p99 of the echo's best"),
    tail("memory, 2026-07-28, p99 of the echo's best"),
  ];
  const [tailDisk, tailMs] = [tail("on disk, one actor for all, p99 of the echo's best"), tail("on disk, one actor for all, p99")];
  const [listed, listedModern] = [list("in a session, of the constant Buffer"), list("2026-07-28, of the constant Buffer")];
  return [
    [
      "`tools/call` over HTTP, state in memory, in a session",
      `${session.of(3)} a second, ${session.cpu} µs of processor time each: ${ofSession.ratio} × the echo; ${peer("memory, in a session, beside official SDK v1, in a session").times} times the official SDK v1, ${peer("memory, in a session, beside FastMCP, in a session").of()} times FastMCP, ${peer("memory, in a session, beside mcp-lite, no sessions").of()} times mcp-lite, which has no sessions`,
      ofSession.aim("×"),
    ],
    [
      "the same in 2026-07-28",
      `${modern.of(3)} a second, ${modern.cpu} µs: ${ofModern.ratio} × the echo (floor: ${ofModern.floor()}); ${peer("memory, 2026-07-28, beside official SDK v2, 2026-07-28").times} times the official SDK v2`,
      ofModern.aim("×"),
    ],
    [
      "the same, on disk before it is answered: an actor for each of 32 connections",
      `${each.of(3)} a second, ${each.cpu} µs: ${ofEach.ratio} × the echo (floor, an echo that writes the same rows: ${ofEach.floor()})`,
      ofEach.aim("×"),
    ],
    [
      "the same, one actor for all connections",
      `${hot.of(3)} a second, ${hot.cpu} µs: ${ofHot.ratio} × the echo (floor: ${ofHot.floor()}); ${peer("on disk, one actor, beside a Durable Object of workerd, on disk").of()} times a local Durable Object of workerd`,
      ofHot.aim("×"),
    ],
    [
      "p99 of `tools/call` at half of its peak rate, of the echo's, the least and the median of five rounds: in a session, 2026-07-28",
      `${tailSession.least()} and ${tailSession.of()}, ${tailModern.least()} and ${tailModern.of()}`,
      `least ${aims([tailSession, tailModern])}`,
    ],
    ["the same on disk", `${tailDisk.least()} and ${tailDisk.of()}: ${tailMs.of()} ms`, ""],
    [
      "`tools/list` of 50 tools: in a session, 2026-07-28",
      `${list("in a session").of(3)} and ${list("2026-07-28").of(3)} a second: ${listed.ratio} and ${listedModern.ratio} × sending a constant Buffer (floor: ${list("the floor, of the constant Buffer").ratio}); ${list("2026-07-28, beside official SDK v2, 2026-07-28").of(3)} times the official SDK v2, ${list("in a session, beside FastMCP, in a session").of()} times FastMCP, ${list("in a session, beside mcp-lite, no sessions").of()} times mcp-lite`,
      aims([listed, listedModern], "×"),
    ],
  ];
};

const wires = (figures: Figures): readonly string[][] => {
  const wire = rowsOf(figures, "wires", "tools/call: ");
  const [one, few, stdio] = ["TCP, 32 connections, one by one", "TCP, 4 connections, pipelined", "stdio, pipelined"];
  const of = (name: string): readonly [ours: FormattedRow, echo: FormattedRow] => [
    wire(`${name}, of our HTTP`),
    wire(`${name}, of a bare node:http echo`),
  ];
  const [oneOurs, oneEcho] = of(one);
  const [fewOurs, fewEcho] = of(few);
  const [stdioOurs, stdioEcho] = of(stdio);
  const varying = `${few}, of nine kinds whose tools may vary`;
  return [
    [
      "`tools/call` over TCP, 32 connections, one by one",
      `${wire(one).of(3)} a second: ${oneOurs.of()} × our own HTTP (floor, lines echoed by hand: ${oneOurs.floor()}), ${oneEcho.of()} × the HTTP echo (floor: ${oneEcho.floor()})`,
      `${oneOurs.aim("× ours")}, ${oneEcho.aim("× the echo")}`,
    ],
    [
      "the same, 4 connections, pipelined",
      `${wire(few).of(3)} a second: ${fewOurs.of()} × our own HTTP (floor, our turn with its lines read by hand: ${fewOurs.floor()}), ${fewEcho.of()} × the HTTP echo`,
      `${fewOurs.aim("× ours")}, ${fewEcho.aim("× the echo")}`,
    ],
    [
      "the same, nine kinds of actors whose tools vary with their state",
      `${wire(varying).of(3)} a second: ${wire(`${varying}, of one whose tools never do`).of()} × that`,
      "",
    ],
    [
      "`tools/call` over stdio, pipelined",
      `${wire(stdio).of(3)} a second: ${stdioOurs.of()} × our own HTTP (floor, lines echoed by hand: ${stdioOurs.floor()}), ${stdioEcho.of()} × the HTTP echo`,
      `${stdioOurs.aim("× ours")}, ${stdioEcho.aim("× the echo")}`,
    ],
  ];
};

const actors = (figures: Figures): readonly string[][] => {
  const inTurn = rowsOf(figures, "in-process", "a call in process, one after the other: ");
  const underWay = rowsOf(figures, "in-process", "a call in process, 500 under way: ");
  const begun = rowsOf(figures, "actors");
  const other = rowsOf(figures, "other-actors");
  const kinds = ["a flat state", "a nested state, an object by its name", "a nested state, an item by its place"].map(
    (kind) => `actor(), ${kind}`,
  );
  const [one, many] = [kinds.map(inTurn), kinds.map(underWay)];
  const list = (rows: readonly FormattedRow[], say: (row: FormattedRow) => string): string => rows.map(say).join(", ");
  const [alone, called, live] = [
    begun("an actor begun, 200000 of them: its first event is there"),
    begun("an actor begun and called once, 200000 of them"),
    begun("a live actor with its last event"),
  ];
  const first = (who: string): string => other(`an actor begun and called once: ${who}`).of();
  const held = (who: string): string => other(`a live actor that was called once: ${who}`).of(4);
  const takes = (who: string): string => other(`an actor in memory, called one by one: ${who}`).of();
  return [
    [
      "a call in process, one after the other: a behaviour by hand; `actor()` with a flat state, a nested one by its names, an item of a list by its place",
      `${inTurn("a behaviour").of()}; ${list(one, (row) => row.of(row === one[0] ? 2 : 3))} µs (floor: ${list(one, (row) => row.floor())}; the BEAM's GenServer ${takes("the BEAM (GenServer)")}, XState ${takes("XState")})`,
      aims(one, "µs"),
    ],
    [
      "the same with 500 under way: flat, by its names, by its place",
      `${list(many, (row) => row.of(row === many[0] ? 2 : 3))} µs (floor: ${list(many, (row) => row.floor())})`,
      many.map((row) => row.aim("µs")).join(", "),
    ],
    [
      "an actor begun; begun and called once",
      `${alone.of()} µs (floor: ${alone.floor()}); ${called.of()} µs (in a process that also runs the others: ours ${first("ours")}, the BEAM ${first("the BEAM (GenServer)")}, XState ${first("XState")})`,
      alone.aim("µs"),
    ],
    ["a live actor", `${live.of(3)} bytes (the BEAM: ${held("the BEAM (GenServer)")}; XState: ${held("XState")})`, live.aim()],
  ];
};

const storage = (figures: Figures): readonly string[][] => {
  const calls = rowsOf(figures, "durable", "calls on disk before they are answered, ");
  const opened = rowsOf(figures, "start-up", "open a directory and answer one call, ");
  const woken = rowsOf(figures, "wake")("an actor of 1000000 on disk, woken and read, p50");
  const restate = rowsOf(figures, "cluster", "calls on Restate, ");
  const [ofOne, ofMany] = [calls("1 caller, of the same statements bare"), calls("64 callers, of the same statements bare")];
  const [alone, many] = [restate("1 caller: actors, of a bare virtual object"), restate("64 callers: actors, of a bare virtual object")];
  return [
    [
      "durable calls, 1 caller and 64",
      `${calls("1 caller").of(3)} and ${calls("64 callers").of(3)} a second: ${ofOne.ratio} and ${ofMany.ratio} × the bare SQLite statements`,
      aims([ofOne, ofMany], "×"),
    ],
    [
      "open and answer with 1,000,000 actors on disk",
      `${opened("1000000 actors").of()} ms: ${opened("1000000 actors, beside 10").of()} × that with ten`,
      "",
    ],
    ["an actor of 1,000,000 on disk, woken and read", `${woken.of()} µs (p50)`, woken.aim("µs")],
    [
      "calls of actors on a Restate server, 1 caller and 64",
      `${alone.ratio} and ${many.ratio} × a bare virtual object of its SDK`,
      aims([alone, many], "×"),
    ],
    [
      "a change made through one node, heard of on another",
      `${rowsOf(figures, "cluster")("a change heard of on another node, after its reply").of()} ms after its reply`,
      "",
    ],
  ];
};

const more = (figures: Figures): readonly string[][] => {
  const packet = rowsOf(figures, "packet");
  const [whole, tool] = [
    packet("message: a packet as a whole, from text to text"),
    packet("a capability of 1 ms as an MCP tool, from text to text"),
  ];
  const searches = Object.entries(figures["packet-search"] ?? {})
    .filter(([name]) => name.includes("one looks for"))
    .map(([name, row]) => new FormattedRow(name, row));
  const start = rowsOf(figures, "packaged");
  const [stdio, overHttp, zod] = [
    start("troupe serve to its first answer, stdio"),
    start("the same over HTTP"),
    start("the same over stdio, a module that imports zod"),
  ];
  const broadcast = rowsOf(figures, "broadcast");
  const change = (to: string) => ({
    ms: broadcast(`${to}, till the last has it`).of(3),
    times: broadcast(`${to}, till the last has it, beside socket.write`),
    stall: broadcast(`${to}, longest stall of the event loop`),
    bareStall: broadcast(`${to}, longest stall of the bare one, for comparison`).of(),
  });
  const [get, listen, actor] = [
    change("one change to 10000 GET streams"),
    change("one change to 10000 subscriptions/listen"),
    change("an actor's change to 10000 GET streams"),
  ];
  const among = "a call that changes a resource, 10000 sessions listen to lists";
  const listened = rowsOf(figures, "listeners");
  const [many, ratioToOne] = [listened(among), listened(`${among}, beside one`)];
  const idle = rowsOf(figures, "sessions");
  const held = [
    idle("an idle session, of 10000 over HTTP"),
    idle("an idle GET stream, beyond that"),
    idle("an idle subscriptions/listen, beyond that"),
  ];
  const verified = rowsOf(figures, "verify");
  const ofRows = verified("events verified, of reading and hashing the same rows");
  return [
    [
      "a packet and its reply as text, the actor's turn included; a tool call of a 1 ms capability",
      `${whole.of(3)} µs; ${tool.of(3)} ms`,
      `${whole.aim("µs")}; ${tool.aim("ms")}`,
    ],
    ["search of what actors were told, 100,000 notes", `${span(searches)} ms`, worst(searches, "ms")],
    [
      "from `troupe serve` to its first answer, installed from the package: stdio, HTTP, stdio with a module that imports zod",
      `${stdio.of()}, ${overHttp.of()}, ${zod.of()} ms, where \`node -e 0\` takes ${start("node -e 0").of()} and to import the official SDK's server ${start("node that imports the official SDK's server, and ends").of(3)} (floor: one file that answers, ${stdio.floor()} over stdio and ${overHttp.floor()} over HTTP)`,
      aims([stdio, overHttp, zod], "ms"),
    ],
    [
      "one change to 10,000 listeners: GET streams, `subscriptions/listen`",
      `${get.ms}, ${listen.ms} ms: ${get.times.ratio} and ${listen.times.ratio} × a bare loop of \`socket.write\`; the event loop stood still for ${get.stall.of(1)} and ${listen.stall.of(1)} ms, that loop's for ${get.bareStall} and ${listen.bareStall}`,
      `${aims([get.times, listen.times], "×")}; ${aims([get.stall, listen.stall], "ms")}`,
    ],
    ["the same where the change is an actor's, to GET streams", `${actor.ms} ms: ${actor.times.ratio} ×`, actor.times.aim("×")],
    [
      "a call that changes what a resource shows, where 10,000 sessions listen to their lists",
      `${many.of()} µs: ${ratioToOne.ratio} × that where one does`,
      ratioToOne.aim("×"),
    ],
    [
      "an idle session; an idle stream, beyond a held response of node:http: GET, `subscriptions/listen`",
      `${held[0]?.of(3)} bytes; ${held[1]?.of(3)}, ${held[2]?.of(3)} bytes`,
      aims(held),
    ],
    [
      "verifying chains",
      `${verified("events verified").of(3)} events a second: ${ofRows.ratio} × reading and hashing the same rows`,
      ofRows.aim("×"),
    ],
  ];
};

const guests = (figures: Figures): readonly string[][] => {
  const guest = rowsOf(figures, "guests");
  const both = (row: string): readonly FormattedRow[] => [guest(`echo: ${row}`), guest(`counter: ${row}`)];
  const [sends, requests, instances] = [
    both("a send to a warm guest, all that its worker does"),
    both("a request to a warm guest, all that its worker does"),
    both("an instance and its init"),
  ];
  const [stage, mcp] = [
    guest("in memory: a request to a guest through the stage, answered, p50"),
    guest("in memory: request_message through the MCP gateway, from text to text, p50"),
  ];
  const many = (row: string): string => rounded(Number(guest(`100000 guests, 100 instances: ${row}`).of(4).replace(",", "")) / 1_000, 2);
  return [
    [
      "a send to a WebAssembly guest, a request, in its worker",
      `${span(sends)}, ${span(requests)} µs (an Extism plug-in that echoes: ${guest("echo: an Extism plug-in that echoes the same bytes").of()})`,
      `${worst(sends)}, ${worst(requests, "µs")}`,
    ],
    [
      "an instance of a guest and its `init`",
      `${span(instances)} µs (through jco's glue ${span(both("an instance and its init, through jco's glue"), 3)}; an Extism plug-in of a compiled module ${guest("echo: an Extism plug-in of a compiled module, closed again").of()})`,
      worst(instances, "µs"),
    ],
    [
      "a request to a guest in memory, answered through its worker; over MCP, as text",
      `${stage.of()} µs; ${mcp.of(3)} µs, of which a message to a bare worker and back takes ${guest("a message to a bare worker and back, p50").of()}`,
      aims([stage, mcp], "µs"),
    ],
    [
      "100,000 guests in one process, 100 of them with an instance",
      `${many("held for each")} KB each held for them, ${many("of the process for each")} KB of the process`,
      "",
    ],
  ];
};

const markdown = (rows: readonly string[][]): string => {
  const [head = []] = rows;
  return [head, head.map(() => "---"), ...rows.slice(1)]
    .map((cells) => `| ${cells.join(" | ")} |`.replaceAll(/ --- (?=\|)/g, "---").replace(/\|  \|$/, "| |"))
    .join("\n");
};

/** The table of docs/benchmarks.md. Throws where the figures lack a row that it has. */
export const benchmarkTable = (figures: Figures): string =>
  markdown([["what", "figure", "aim"], ...[http, wires, actors, storage, more, guests].flatMap((rows) => rows(figures))]);

/** The four figures of README. Throws where the figures lack a row that it has. */
export const headlineTable = (figures: Figures): string => {
  const call = rowsOf(figures, "http-call", "tools/call over HTTP: ");
  const peer = rowsOf(figures, "http-peers", "tools/call over HTTP: ");
  const other = rowsOf(figures, "other-actors", "a live actor that was called once: ");
  const opened = rowsOf(figures, "start-up", "open a directory and answer one call, ");
  const disk = call("on disk, one actor for all");
  return markdown([
    ["measured", "Troupe", "compared with"],
    [
      "Tool calls over HTTP, state in memory",
      `${call("memory, in a session").of(3)} per second`,
      `${call("memory, in a session, of the echo").ratio} × a bare \`node:http\` echo; ${peer("memory, in a session, beside official SDK v1, in a session").times} × the official SDK v1`,
    ],
    [
      "Tool calls over HTTP, on disk before the reply",
      `${disk.of(3)} per second`,
      `${call("on disk, one actor for all, of the echo").ratio} × the echo; ${peer("on disk, one actor, beside a Durable Object of workerd, on disk").of()} × a local Durable Object`,
    ],
    [
      "Memory of a live actor",
      `${rowsOf(figures, "actors")("a live actor with its last event").of(3)} bytes`,
      `XState ${other("XState").of(4)}; Erlang's BEAM ${other("the BEAM (GenServer)").of(4)}`,
    ],
    [
      "Open a store of 1,000,000 actors and answer one call",
      `${opened("1000000 actors").of()} ms`,
      `${opened("1000000 actors, beside 10").of()} × the time with ten actors`,
    ],
  ]);
};

/** A page with `table` in place of the one that has the same head. Throws if the page has none. */
export const withTable = (page: string, table: string): string => {
  const head = table.slice(0, table.indexOf("\n") + 1);
  const start = page.indexOf(head);
  if (head === "" || start < 0) throw new Error(`The page has no table that begins with ${head.trim()}`);
  const [old = ""] = /^(?:\|.*\n)*/.exec(page.slice(start)) ?? [];
  return `${page.slice(0, start)}${table}\n${page.slice(start + old.length)}`;
};

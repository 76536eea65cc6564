// A client of the V8 inspector of another Node process: the few commands and events that `npm run trace` needs.
import { once } from "node:events";
import * as z from "zod";

const place = z.object({ scriptId: z.string(), lineNumber: z.number(), columnNumber: z.number().exactOptional() });
export type Location = z.infer<typeof place>;

const functionCoverage = z.object({
  functionName: z.string(),
  ranges: z.array(z.object({ startOffset: z.number(), endOffset: z.number(), count: z.number() })),
});
const scriptCoverage = z.object({ scriptId: z.string(), url: z.string(), functions: z.array(functionCoverage) });
export type ScriptCoverage = z.infer<typeof scriptCoverage>;

const results = {
  coverage: z.object({ result: z.array(scriptCoverage) }),
  locations: z.object({ locations: z.array(place) }),
  source: z.object({ scriptSource: z.string() }),
  value: z.object({ result: z.object({ value: z.unknown().optional() }) }),
  none: z.looseObject({}),
};

const parsedScript = z.object({ scriptId: z.string(), url: z.string() });
const message = z.object({
  id: z.number().exactOptional(),
  error: z.object({ message: z.string() }).exactOptional(),
  result: z.unknown().optional(),
  method: z.string().exactOptional(),
  params: z.unknown().optional(),
});

export class Inspector implements Disposable {
  /** The URL of every script the process has loaded, by its id. */
  readonly scripts = new Map<string, string>();
  readonly #socket: WebSocket;
  readonly #pending = new Map<number, PromiseWithResolvers<unknown>>();
  #nextId = 1;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => this.#receive(String(data)));
    socket.addEventListener("close", () => {
      for (const { reject } of this.#pending.values()) reject(new Error("The traced server ended."));
    });
  }

  static async connect(url: string): Promise<Inspector> {
    const socket = new WebSocket(url);
    await once(socket, "open");
    return new Inspector(socket);
  }

  [Symbol.dispose](): void {
    this.#pending.clear();
    this.#socket.close();
  }

  async run(method: string, params: object = {}): Promise<void> {
    await this.#send(method, params, results.none);
  }

  /** How often each function ran since the last look. */
  async coverage(): Promise<readonly ScriptCoverage[]> {
    return (await this.#send("Profiler.takePreciseCoverage", {}, results.coverage)).result;
  }

  async source(scriptId: string): Promise<string> {
    return (await this.#send("Debugger.getScriptSource", { scriptId }, results.source)).scriptSource;
  }

  /** Where execution can pause in one function, its inner functions left out. */
  async possibleBreakpoints(start: Location, end: Location): Promise<readonly Location[]> {
    const params = { start, end, restrictToFunction: true };
    return (await this.#send("Debugger.getPossibleBreakpoints", params, results.locations)).locations;
  }

  /** Evaluates an expression each time execution comes to that place. The process does not pause. */
  async evaluateAt(location: Location, expression: string): Promise<void> {
    await this.run("Debugger.setBreakpoint", { location, condition: `(${expression}, false)` });
  }

  /** The value of an expression, which must be JSON. */
  async evaluate(expression: string): Promise<unknown> {
    return (await this.#send("Runtime.evaluate", { expression, returnByValue: true }, results.value)).result.value;
  }

  async #send<T>(method: string, params: object, result: z.ZodType<T>): Promise<T> {
    const id = this.#nextId++;
    const answer = Promise.withResolvers<unknown>();
    this.#pending.set(id, answer);
    this.#socket.send(JSON.stringify({ id, method, params }));
    return result.parse(await answer.promise);
  }

  #receive(text: string): void {
    const { id, error, result, method, params } = message.parse(JSON.parse(text));
    if (id !== undefined) {
      const answer = this.#pending.get(id);
      this.#pending.delete(id);
      if (error === undefined) answer?.resolve(result);
      else answer?.reject(new Error(error.message));
    } else if (method === "Debugger.scriptParsed") {
      const { scriptId, url } = parsedScript.parse(params);
      this.scripts.set(scriptId, url);
    }
  }
}

// Requests to the console's API without a server, as its mount receives them.
import { consoleFor } from "../../src/bridges/console/index.ts";
import type { Answer, Caller, HttpMount } from "../../src/core/contract/index.ts";

export const TOKEN = "a-token-of-this-start";

const nothing = async (): Promise<readonly never[]> => [];

/** An empty console, unless a test adds more. */
export class Console {
  readonly #mount: HttpMount;

  constructor({ schemas, token = TOKEN }: { readonly schemas?: string; readonly token?: string | null } = {}) {
    const body = new TextEncoder().encode(schemas);
    const [api] = consoleFor({
      about: { name: "test", version: "1.0.0", engine: "memory", development: true, docs: "docs" },
      reader: {
        list: nothing,
        events: nothing,
        event: async () => undefined,
        caused: nothing,
        state: async () => undefined,
      },
      now: () => 0,
      ...(token !== null && { token }),
      ...(schemas === undefined ? {} : { assets: { find: () => ({ type: "application/json", body, immutable: false }) } }),
    });
    if (api === undefined) throw new Error("There is no API.");
    this.#mount = api;
  }

  async request(
    verb: "GET" | "POST" | "DELETE",
    path: string,
    { headers = { authorization: `Bearer ${TOKEN}` }, body, caller = { scopes: [] } }: ApiRequest = {},
  ): Promise<{ readonly status: number; readonly headers: Answer["headers"]; readonly json: object }> {
    const [at = "", query = ""] = path.split("?");
    const answer = await this.#mount.handle({
      verb,
      path: `/console/api${at}`,
      query,
      caller,
      header: (name) => headers[name],
      ...(body === undefined ? {} : { body: new TextEncoder().encode(body) }),
      stream: () => {
        throw new Error("There are no streams here.");
      },
      lines: () => {
        throw new Error("There are no lines here.");
      },
      disconnected: new AbortController().signal,
    });
    return { status: answer.status, headers: answer.headers, json: JSON.parse(String(answer.body)) };
  }
}

interface ApiRequest {
  /** Default: the token's access. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly caller?: Caller;
}

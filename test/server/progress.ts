// The official clients as a streaming tool needs them: what it tells, as it comes.
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as HttpV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { INFO, MODERN, type Which } from "../clients.ts";

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

export interface Caller {
  call(tool: string, onStep: (message: string | undefined) => void, signal?: AbortSignal): Promise<unknown>;
  close(): Promise<void>;
}

export async function callerOf({ sdk, era }: Which, url: string, fetch?: Fetch): Promise<Caller> {
  const by = fetch === undefined ? {} : { fetch };
  if (sdk === "v1") {
    const client = new ClientV1(INFO, { capabilities: {} });
    await client.connect(new HttpV1(new URL(url), by));
    return {
      call: async (name, onStep, signal) =>
        (
          await client.callTool({ name, arguments: {} }, undefined, {
            onprogress: ({ message }) => onStep(message),
            ...(signal === undefined ? {} : { signal }),
          })
        ).content,
      close: () => client.close(),
    };
  }
  const client = new ClientV2(INFO, {
    capabilities: {},
    versionNegotiation: { mode: era === "legacy" ? "legacy" : { pin: MODERN } },
  });
  await client.connect(new HttpV2(new URL(url), by));
  return {
    call: async (name, onStep, signal) =>
      (
        await client.callTool(
          { name, arguments: {} },
          { onprogress: ({ message }) => onStep(message), ...(signal === undefined ? {} : { signal }) },
        )
      ).content,
    close: () => client.close(),
  };
}

// The official clients with a callback for progress as it arrives.
import { Client as ClientV2, SSEClientTransport as SseV2, StreamableHTTPClientTransport as HttpV2 } from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport as SseV1 } from "@modelcontextprotocol/sdk/client/sse.js";
import { StreamableHTTPClientTransport as HttpV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { INFO, MODERN, type Which } from "../clients.ts";

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

export interface Caller {
  call(tool: string, onStep: (message: string | undefined) => void, signal?: AbortSignal): Promise<unknown>;
  close(): Promise<void>;
}

/** A URL that ends in `/sse` uses the deprecated transport. */
export async function callerOf({ sdk, era }: Which, url: string, fetch?: Fetch): Promise<Caller> {
  const by = fetch === undefined ? {} : { fetch };
  const old = url.endsWith("/sse");
  if (sdk === "v1") {
    const client = new ClientV1(INFO, { capabilities: {} });
    await client.connect(old ? new SseV1(new URL(url), by) : new HttpV1(new URL(url), by));
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
  await client.connect(old ? new SseV2(new URL(url), by) : new HttpV2(new URL(url), by));
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

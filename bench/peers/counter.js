// For workerd: the counter as a Durable Object with a minimal MCP call. The header `actor` selects the object; by default there is one.
import { DurableObject } from "cloudflare:workers";

export class Counter extends DurableObject {
  async add(by) {
    const count = ((await this.ctx.storage.get("count")) ?? 0) + by;
    // Not awaited: the output gate delays the response until the write is on disk.
    this.ctx.storage.put("count", count);
    return count;
  }
}

export default {
  async fetch(request, env) {
    const { id, params } = await request.json();
    const counter = env.COUNTERS.get(env.COUNTERS.idFromName(request.headers.get("actor") ?? "main"));
    const count = await counter.add(params.arguments.by ?? 1);
    return Response.json({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: String(count) }] } });
  },
};

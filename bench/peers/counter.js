// For workerd: the counter as a Durable Object, and what of MCP a call of it needs. By the header `actor`, or one for all.
import { DurableObject } from "cloudflare:workers";

export class Counter extends DurableObject {
  async add(by) {
    const count = ((await this.ctx.storage.get("count")) ?? 0) + by;
    // Its answer waits for the disk: the object's output gate.
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

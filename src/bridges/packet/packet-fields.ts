import { type JsonObject, isJsonObject, type Json } from "../../core/contract/index.ts";
import { CONTEXT_TEXTS, fitsContext, isContext, isText } from "./packet-echo.ts";
import { memberOf } from "./packet-json.ts";
import { CONTEXT_BYTES, ID_BYTES, INTENT_BYTES, STATE_TIMEOUT_MS } from "./packet-limits.ts";
import type { PacketIssue } from "./packet-text.ts";
import type { ActorOptions, PacketContext, Persistence, RequestPacket, RequestType } from "./packet.ts";

export const PERSISTENCES = ["memory", "disk", "distributed"] as const satisfies readonly Persistence[];

/** Reads the fields of one request, and collects all that is wrong with them. */
export class PacketFields {
  readonly issues: PacketIssue[] = [];
  readonly #from: JsonObject;

  constructor(from: JsonObject) {
    this.#from = from;
  }

  complain(path: string, message: string): undefined {
    this.issues.push({ path, message });
  }

  /** Undefined: look at `issues`. Without a type only what all types share is looked at. */
  packet(version: string, type: RequestType | undefined): RequestPacket | undefined {
    const id = this.#text("id");
    const intent = this.#text("intent", INTENT_BYTES, 0);
    const capability_id = this.#text("capability_id");
    const actor_id = this.#text("actor_id");
    const payload = this.#bag("payload");
    const context = this.#context();
    const actor_options = this.#actorOptions();
    const metadata = this.#bag("metadata");
    if (type !== undefined) this.#needs(type, payload ?? {});
    if (type === undefined || this.issues.length > 0) return undefined;
    return {
      version,
      type,
      ...(id === undefined ? undefined : { id }),
      ...(intent === undefined ? undefined : { intent }),
      ...(capability_id === undefined ? undefined : { capability_id }),
      ...(actor_id === undefined ? undefined : { actor_id }),
      payload: payload ?? {},
      context,
      ...(actor_options === undefined ? undefined : { actor_options }),
      ...(metadata === undefined ? undefined : { metadata }),
    };
  }

  #needs(type: RequestType, payload: JsonObject): void {
    if ((type === "capability_request" || type === "actor_message") && memberOf(this.#from, "capability_id") === undefined)
      this.complain("/capability_id", `A packet of type ${type} names the capability it is for.`);
    if (type === "mcp_request" && !isJsonObject(memberOf(payload, "mcp_message")))
      this.complain("/payload/mcp_message", "An mcp_request carries one JSON-RPC message, as an object.");
    if (type === "cancel" && !isText(memberOf(payload, "id"), ID_BYTES))
      this.complain("/payload/id", `A cancel names the id of the request to end: text of 1 to ${ID_BYTES} bytes.`);
  }

  #text(name: string, maxBytes = ID_BYTES, minBytes = 1): string | undefined {
    const value = memberOf(this.#from, name);
    if (value === undefined || isText(value, maxBytes, minBytes)) return value;
    return this.complain(`/${name}`, `Must be text of ${minBytes} to ${maxBytes} bytes, or absent.`);
  }

  #bag(name: string): JsonObject | undefined {
    const value = memberOf(this.#from, name);
    if (value === undefined || isJsonObject(value)) return value;
    return this.complain(`/${name}`, "Must be an object, or absent.");
  }

  #context(): PacketContext {
    const context = this.#bag("context");
    if (context === undefined) return {};
    if (!fitsContext(context)) this.complain("/context", `Must have at most ${CONTEXT_BYTES} bytes: send what is long in the payload.`);
    if (isContext(context)) return context;
    for (const name of CONTEXT_TEXTS) {
      const text = memberOf(context, name);
      if (text !== undefined && !isText(text, ID_BYTES))
        this.complain(`/context/${name}`, `Must be text of 1 to ${ID_BYTES} bytes, or absent.`);
    }
    return {};
  }

  #actorOptions(): ActorOptions | undefined {
    const options = this.#bag("actor_options");
    if (options === undefined) return undefined;
    const create = memberOf(options, "create_if_missing");
    const timeout = memberOf(options, "state_timeout");
    const persistence = memberOf(options, "persistence");
    if (create !== undefined && typeof create !== "boolean")
      this.complain("/actor_options/create_if_missing", "Must be true, false or absent.");
    if (timeout !== undefined && !isTimeout(timeout))
      this.complain("/actor_options/state_timeout", `Must be milliseconds, more than 0 and at most ${STATE_TIMEOUT_MS}, or absent.`);
    if (persistence !== undefined && !isPersistence(persistence))
      this.complain("/actor_options/persistence", `Must be one of ${PERSISTENCES.join(", ")}, or absent.`);
    return {
      ...(typeof create === "boolean" ? { create_if_missing: create } : undefined),
      ...(isTimeout(timeout) ? { state_timeout: timeout } : undefined),
      ...(isPersistence(persistence) ? { persistence } : undefined),
    };
  }
}

const isTimeout = (value: Json | undefined): value is number => typeof value === "number" && value > 0 && value <= STATE_TIMEOUT_MS;

const isPersistence = (value: Json | undefined): value is Persistence => PERSISTENCES.some((known) => known === value);

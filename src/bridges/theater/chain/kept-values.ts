import { type JsonObject, type ContentStore, isJsonObject, isList, type Json } from "../../../core/contract/index.ts";
import { MissingContent, loadValue, type WitValue } from "../../wasm/index.ts";
import { EVENT_BYTES, VALUE_BYTES } from "./told-lengths.ts";

const lengthOf = ({ length }: JsonObject): number => (typeof length === "number" ? length : Infinity);

/**
 * The values that one event's record holds, within the limits. What is omitted depends only on the lengths in the record and their
 * order, not on what the content store still has, since hashes depend on it.
 */
export class KeptValues {
  readonly #get: ContentStore["get"];
  #left = EVENT_BYTES;
  #out: string[] = [];

  constructor(get: ContentStore["get"]) {
    this.#get = get;
  }

  /** Undefined if its content was collected, it is omitted, or it is not a recorded value. */
  async value(kept: Json | undefined): Promise<WitValue> {
    if (kept === undefined) return undefined;
    try {
      return await loadValue(await this.#within(kept), this.#get);
    } catch (error) {
      if (error instanceof MissingContent || error instanceof TypeError) return undefined;
      throw error;
    }
  }

  async values(kept: readonly Json[]): Promise<readonly WitValue[]> {
    const values: WitValue[] = [];
    for (const one of kept) values.push(await this.value(one));
    return values;
  }

  /** One content with many host calls, or why it is omitted. */
  async calls(apart: JsonObject): Promise<readonly Json[] | string> {
    const { digest } = apart;
    if (typeof digest !== "string") return "that are not kept";
    if (!this.#takes(digest, apart, EVENT_BYTES)) return `that are left out: ${digest} of ${lengthOf(apart)} bytes`;
    const calls = await this.#json(digest);
    return isList(calls) ? calls : "that are no longer kept";
  }

  /** What was omitted since the last note, for a description. */
  note(): string | undefined {
    const [first, ...more] = this.#out;
    this.#out = [];
    return first === undefined ? undefined : `left out: ${first}${more.length === 0 ? "" : `, and ${more.length} more`}`;
  }

  /** Loads a value that is stored as one content, which may refer to others. */
  async #within(kept: Json): Promise<Json> {
    const apart = isJsonObject(kept) ? kept["kept"] : undefined;
    const digest = isJsonObject(apart) ? apart["digest"] : undefined;
    if (!isJsonObject(apart) || typeof digest !== "string") return this.#told(kept);
    if (!this.#takes(digest, apart)) return null;
    const whole = await this.#json(digest);
    return whole === undefined ? null : this.#told(whole);
  }

  /** Replaces what is omitted by null. */
  #told(kept: Json): Json {
    if (isList(kept)) return kept.map((one) => this.#told(one));
    if (!isJsonObject(kept)) return kept;
    const { digest } = kept;
    if (typeof digest === "string") return this.#takes(digest, kept) ? kept : null;
    if (isJsonObject(kept["record"])) return { record: this.#fields(kept["record"]) };
    return "ok" in kept || "err" in kept ? this.#fields(kept) : kept;
  }

  #fields(bag: JsonObject): Json {
    return Object.fromEntries(Object.entries(bag).map(([name, one]) => [name, this.#told(one)]));
  }

  #takes(digest: string, apart: JsonObject, most = VALUE_BYTES): boolean {
    const length = lengthOf(apart);
    if (length <= most && length <= this.#left) {
      this.#left -= length;
      return true;
    }
    this.#out.push(`${digest} of ${length} bytes`);
    return false;
  }

  async #json(digest: string): Promise<Json | undefined> {
    const bytes = await this.#get(digest);
    if (bytes === undefined) return undefined;
    const json: Json = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString());
    return json;
  }
}

import type { Answer, Gateway } from "../../core/contract/index.ts";
import { remembering } from "../../core/contract/internal.ts";
import { refusal } from "../gateway/index.ts";
import type { HeaderList } from "./http-headers.ts";

/** What an `Accept` header admits. */
interface Admits {
  readonly json: boolean;
  readonly events: boolean;
}

const EVERYTHING: Admits = { json: true, events: true };

function quality(parameters: readonly string[]): number {
  for (const parameter of parameters) {
    const match = /^\s*q\s*=\s*([0-9.]+)\s*$/i.exec(parameter);
    if (match !== null) return Number(match[1]);
  }
  return 1;
}

const readAccept = remembering((text): Admits => {
  const qualities = new Map<string, number>();
  for (const range of text.split(",")) {
    const [type = "", ...parameters] = range.split(";");
    qualities.set(type.trim().toLowerCase(), quality(parameters));
  }
  // The most specific range decides (RFC 9110, 12.5.1).
  const admits = (type: string): boolean =>
    (qualities.get(type) ?? qualities.get(`${type.slice(0, type.indexOf("/"))}/*`) ?? qualities.get("*/*") ?? 0) > 0;
  return { json: admits("application/json"), events: admits("text/event-stream") };
});

/** No `Accept` header admits everything (RFC 9110, 12.5.1). */
const accepts = (header: string | undefined): Admits => (header === undefined ? EVERYTHING : readAccept(header));

/** Whether a POST accepts what it may be answered by: both media types, or one where the gateway says that this is enough. */
function acceptsReply({ json, events }: Admits, { acceptsEither }: Pick<Gateway, "acceptsEither">): boolean {
  return acceptsEither === true ? json || events : json && events;
}

/** JSON in UTF-8, the only charset JSON has between systems (RFC 8259, 8.1). */
const isJson: (contentType: string) => boolean = remembering((text) => {
  const [type = "", ...parameters] = text.split(";");
  if (type.trim().toLowerCase() !== "application/json") return false;
  for (const parameter of parameters) {
    const match = /^\s*charset\s*=\s*"?([^"\s]*)"?\s*$/i.exec(parameter);
    if (match !== null && match[1]?.toLowerCase() !== "utf-8") return false;
  }
  return true;
});

/** What a way in to MCP leaves its clients. */
interface Leave extends Pick<Gateway, "acceptsEither"> {
  /** A POST is answered without a body, so what it accepts does not matter. */
  readonly bodiless?: boolean;
}

/** What is wrong with a request to MCP as far as its media types say. */
export function refuseMedia(method: string, headers: HeaderList, leave: Leave): Answer | undefined {
  if (method === "DELETE") return undefined;
  const admits = accepts(headers.get("accept"));
  if (method !== "POST") return admits.events ? undefined : refusal("NOT_ACCEPTABLE", "Send Accept: text/event-stream.");
  if (leave.bodiless !== true && !acceptsReply(admits, leave))
    return refusal("NOT_ACCEPTABLE", "Send Accept: application/json, text/event-stream.");
  return isJson(headers.get("content-type") ?? "") ? undefined : refusal("MEDIA_TYPE", "Send Content-Type: application/json.");
}

/** A body that has to be unpacked first: nothing here does. */
export function refusePacked(headers: HeaderList): Answer | undefined {
  const coding = headers.get("content-encoding")?.trim().slice(0, 64).toLowerCase() ?? "";
  if (coding === "" || coding === "identity") return undefined;
  return refusal("MEDIA_TYPE", `Send the body as it is, without Content-Encoding: ${coding.replace(/[^a-z0-9, -]/g, "")}.`);
}

// Plays one transcript against the gateway of its setup, and reports where answers differ.
import { isDeepStrictEqual } from "node:util";
import type { Json } from "../../src/core/contract/index.ts";
import { claimedRevision } from "../../src/mcp/gateway/envelope.ts";
import type { GatewayOptions } from "../../src/mcp/gateway/index.ts";
import type { Expected, Fixture, StepRequest } from "./fixture.ts";
import { type Got, send } from "./fixture-exchange.ts";
import { fixtureGateway } from "./fixture-gateway.ts";
import { RequestStates } from "./request-states.ts";

/** The path of the gateway; requests to other paths are not compared. */
const MOUNT = "/mcp";
/** The headers that the gateway sets; all others come from a transport. */
const HEADERS = ["mcp-session-id", "content-type"];

const parsed = (text: string | undefined): Json | undefined => (text === undefined ? undefined : JSON.parse(text));

/** The differences from the transcript, with their steps. */
export async function play(fixture: Fixture, profile: NonNullable<GatewayOptions["profile"]>): Promise<readonly string[]> {
  const { setup, input, expect } = fixture;
  await using gateway = await fixtureGateway(setup.mcp, profile);
  const states = new RequestStates();
  const wrong: string[] = [];
  for (const [at, { name, request }] of input.mcp.steps.entries()) {
    const expected = expect.mcp.steps[at];
    if (expected === undefined || request.path.split("?")[0] !== MOUNT) continue;
    const got = await send(
      gateway,
      withBody(request, (text) => states.ours(text)),
    );
    wrong.push(...differences(expected, got, states).map((one) => `${name}: ${one}`));
  }
  for (const { name, headers, message } of input.mcp.detections) {
    const shape = expect.mcp.detections.find((one) => one.name === name)?.shape;
    const params =
      typeof message === "object" && message !== null && !Array.isArray(message) && "params" in message ? message.params : undefined;
    const found = claimedRevision(headers["mcp-protocol-version"]?.join(", "), params) ?? "unknown";
    if (found !== shape) wrong.push(`${name}: ${found}, not ${shape ?? "anything"}`);
  }
  return wrong;
}

const display = (value: unknown): string => (value === undefined ? "absent" : JSON.stringify(value));

function withBody(request: StepRequest, change: (text: string) => string): StepRequest {
  return request.body === undefined || request.body.encoding === "base64"
    ? request
    : { ...request, body: { ...request.body, value: change(request.body.value) } };
}

function differences(expected: Expected, got: Got, states: RequestStates): readonly string[] {
  const wrong: string[] = [];
  const compare = (what: string, is: unknown, should: unknown): void => {
    if (!isDeepStrictEqual(is, should)) wrong.push(`${what} is ${display(is)}, not ${display(should)}`);
  };
  compare("the status", got.status, expected.status);
  for (const name of HEADERS) compare(name, bare(got.headers[name]), bare(expected.headers[name]?.[0]));
  const should =
    expected.body_json ?? (expected.body === undefined || expected.body.value === "" ? undefined : parsed(expected.body.value));
  compare("the body", states.theirs(parsed(got.body), should), should);
  compare("the events", got.frames?.map(readable), expected.sse_frames?.map(readable));
  return wrong;
}

/** A media type without its parameters. */
const bare = (value: string | undefined): string | undefined => value?.split(";")[0]?.trim();

/** Sorts members, since JSON objects have no order. */
function readable({ data, ...frame }: { readonly data: string }): unknown {
  return { ...frame, data: data === "" ? "" : parsed(data) };
}

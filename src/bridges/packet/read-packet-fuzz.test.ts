// Any input is read as a packet or refused with the right type, never thrown, and the refusal can be answered.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { PacketError } from "./packet.ts";
import { anyMutant, anyRequest } from "./packets.fixture.ts";
import { readPacket, RefusedPacket } from "./read-packet.ts";
import { errorTo } from "./reply.ts";

/** The type of the packet or refusal, after answering a refusal. */
function outcome(given: string | Uint8Array): string {
  const read = readPacket(given);
  if (!(read instanceof PacketError)) return "packet";
  assert.ok(read instanceof RefusedPacket);
  const answer = JSON.stringify(errorTo(read.echo, read, { execution_time_ms: 0 }));
  assert.ok(answer.isWellFormed());
  // A small packet must not cause a large reply: bounds of the echo and of the error.
  assert.ok(answer.length < 64 * 1_024, String(answer.length));
  return read.type;
}

const isProtocolError = (given: string | Uint8Array): void => assert.equal(outcome(given), "protocol_error");

const packetText = anyRequest.map((packet) => JSON.stringify(packet));
/** A packet whose payload is this text. */
const withPayload = (payload: string): string => `{"version":"1.0","type":"heartbeat","id":"r","payload":${payload}}`;

describe("fuzzed text", () => {
  test("of random bytes is a protocol error", () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), isProtocolError), { numRuns: 1_000 });
  });

  test("of random characters and lone surrogates is a protocol error", () => {
    fc.assert(fc.property(fc.string({ unit: "binary" }), isProtocolError), { numRuns: 500 });
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 0xffff })), (units) => isProtocolError(String.fromCharCode(...units))),
      { numRuns: 500 },
    );
  });

  test("that was truncated is a protocol error", () => {
    fc.assert(
      fc.property(packetText, fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (text, part) => {
        const bytes = Buffer.from(text);
        isProtocolError(bytes.subarray(0, Math.floor(bytes.length * part)));
        isProtocolError(text.slice(0, Math.floor(text.length * part)));
      }),
      { numRuns: 500 },
    );
  });

  test("with a byte changed is read, or refused with a matching type", () => {
    fc.assert(
      fc.property(packetText, fc.nat(), fc.nat({ max: 255 }), (text, at, byte) => {
        const bytes = Buffer.from(text);
        bytes[at % bytes.length] = byte;
        assert.ok(["packet", "protocol_error", "unsupported_version", "unknown_type"].includes(outcome(bytes)));
      }),
      { numRuns: 1_000 },
    );
  });

  test("of a mutant is refused with the type that its version and type require", () => {
    fc.assert(
      fc.property(anyMutant, (value) => {
        const type = outcome(JSON.stringify(value));
        const own = (name: string): unknown => new Map(Object.entries(value ?? {})).get(name);
        const [version, kind] = [own("version"), own("type")];
        const known = ["capability_request", "actor_message", "mcp_request", "heartbeat", "cancel"];
        if (typeof version === "string" && version !== "1.0") assert.equal(type, "unsupported_version");
        else if (typeof kind === "string" && !known.includes(kind)) assert.equal(type, "unknown_type");
        else assert.ok(["packet", "protocol_error"].includes(type));
      }),
      { numRuns: 2_000 },
    );
  });

  test("that nests deep is a protocol error, closed or not", () => {
    fc.assert(
      fc.property(fc.integer({ min: 64, max: 100_000 }), fc.constantFrom(["[", "]"], ['{"a":', "}"]), (levels, [open = "", close = ""]) => {
        isProtocolError(withPayload(`${open.repeat(levels)}0${close.repeat(levels)}`));
        isProtocolError(open.repeat(levels));
      }),
      { numRuns: 30 },
    );
  });

  test("that is huge is a protocol error, whatever its content", () => {
    for (const huge of ["x", "語", " ", "[", '"', "\\", "\ud800"]) {
      isProtocolError(huge.repeat(1_048_577));
      isProtocolError(withPayload(JSON.stringify({ huge: huge.repeat(1_048_577) })));
    }
    isProtocolError(new Uint8Array(1_048_577));
  });

  test("that is just within the limits is answered", () => {
    const fill = (unit: string, around: string): string =>
      around.replace("…", unit.repeat(Math.floor((1_048_576 - 100) / unit.length)).slice(0, -1));
    const lists = (count: number): string => `{"x":[${"[],".repeat(count).slice(0, -1)}]}`;
    assert.equal(outcome(withPayload(lists(99_000))), "packet");
    isProtocolError(withPayload(lists(100_001)));
    assert.equal(outcome(withPayload(fill("語", '{"x":"…"}').slice(0, 340_000).concat('"}'))), "packet");
    isProtocolError(withPayload(fill('"a":0,', "{…}")));
    isProtocolError(withPayload(`{"${"\\\\".repeat(500_000)}":0,"a":0,"a":0}`));
    isProtocolError(`{"context":{"${"k".repeat(1_000_000)}":[[${"[".repeat(70)}${"]".repeat(70)}]]}}`);
    isProtocolError(
      `{"version":"1.0","type":"heartbeat","context":{${Array.from({ length: 80_000 }, (_, at) => `"${at}":""`).join(",")}}}`,
    );
  });

  test("that names a member twice is a protocol error, anywhere", () => {
    fc.assert(
      fc.property(anyRequest, fc.nat(), (packet, pick) => {
        const text = JSON.stringify(packet);
        const names = Object.keys(packet);
        const name = names[pick % names.length] ?? "version";
        isProtocolError(`{${JSON.stringify(name)}:null,${text.slice(1)}`);
        isProtocolError(`${text.slice(0, -1)},${JSON.stringify(name)}:${JSON.stringify(packet[name])}}`);
      }),
      { numRuns: 300 },
    );
  });

  test("that names no member twice is never refused for it", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => assert.equal(outcome(withPayload(JSON.stringify({ value }))), "packet")),
      { numRuns: 1_000 },
    );
  });

  test("with an escaped lone surrogate anywhere in its payload is a protocol error", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 2 }), fc.integer({ min: 0xd800, max: 0xdfff }), fc.boolean(), (value, unit, asName) => {
        const lone = String.fromCharCode(unit);
        isProtocolError(withPayload(JSON.stringify(asName ? { value, [lone]: 1 } : { value, list: [{ text: `a${lone}b` }] })));
      }),
      { numRuns: 300 },
    );
  });
});

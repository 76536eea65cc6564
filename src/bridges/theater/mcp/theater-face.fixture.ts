import assert from "node:assert/strict";
import {
  type CallOptions,
  isJsonObject,
  type Json,
  type JsonObject,
  type OfferRef,
  type Reply,
  type Source,
  type Viewer,
} from "../../../core/contract/index.ts";
import { SimulatedClock } from "../../../testing/index.ts";
import type { FaceLimits, FaceOptions } from "./options.ts";
import { ScriptedStage } from "./scripted-stage.fixture.ts";
import { theaterFace } from "./theater-face.ts";

export const ada: Viewer = { principal: "ada", scopes: [] };
export const bob: Viewer = { principal: "bob", scopes: [] };

export interface FaceFixture extends AsyncDisposable {
  readonly stage: ScriptedStage;
  readonly clock: SimulatedClock;
  readonly face: Source & AsyncDisposable;
  /** A tool's structured result. */
  call(tool: string, args?: JsonObject, viewer?: Viewer, options?: CallOptions): Promise<JsonObject>;
  /** A tool's refusal. */
  refused(tool: string, args?: JsonObject, viewer?: Viewer): Promise<{ readonly code: string; readonly message: string }>;
  /** A resource's JSON. */
  read(name: string, args?: JsonObject, viewer?: Viewer): Promise<unknown>;
  act(ref: OfferRef, args?: Json, viewer?: Viewer): Promise<Reply>;
}

/** Theater's MCP server over a scripted stage, on a simulated clock. */
export function faceFixture(limits: Partial<FaceLimits> = {}, more: Partial<FaceOptions> = {}): FaceFixture {
  const stage = new ScriptedStage();
  const clock = new SimulatedClock();
  const face = theaterFace({ stage, clock, limits, ...more });
  const fixture: FaceFixture = {
    stage,
    clock,
    face,
    async call(tool, args = {}, viewer = ada, options = {}) {
      const reply = await face.act(viewer, `tools/${tool}`, args, options);
      assert.ok("ok" in reply, JSON.stringify(reply));
      assert.ok(isJsonObject(reply.ok));
      return reply.ok;
    },
    async refused(tool, args = {}, viewer = ada) {
      const reply = await face.act(viewer, `tools/${tool}`, args, {});
      assert.ok("refused" in reply, JSON.stringify(reply));
      return reply.refused;
    },
    async read(name, args = {}, viewer = ada) {
      const reply = await face.act(viewer, `resources/${name}`, args, {});
      assert.ok("ok" in reply, JSON.stringify(reply));
      const text: unknown = reply.ok;
      assert.ok(typeof text === "string");
      const value: unknown = JSON.parse(text);
      return value;
    },
    act: (ref, args = {}, viewer = ada) => face.act(viewer, ref, args, {}),
    [Symbol.asyncDispose]: () => face[Symbol.asyncDispose](),
  };
  return fixture;
}

/** Asserts that a value is text. */
export function assertText(value: unknown): string {
  assert.ok(typeof value === "string", JSON.stringify(value));
  return value;
}

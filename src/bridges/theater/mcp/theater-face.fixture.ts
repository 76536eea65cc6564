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

export interface Faced extends AsyncDisposable {
  readonly stage: ScriptedStage;
  readonly clock: SimulatedClock;
  readonly face: Source & AsyncDisposable;
  /** A tool's structure. */
  call(tool: string, args?: JsonObject, viewer?: Viewer, options?: CallOptions): Promise<JsonObject>;
  /** What it was refused with. */
  refused(tool: string, args?: JsonObject, viewer?: Viewer): Promise<{ readonly code: string; readonly message: string }>;
  /** A resource's JSON. */
  read(name: string, args?: JsonObject, viewer?: Viewer): Promise<unknown>;
  act(ref: OfferRef, args?: Json, viewer?: Viewer): Promise<Reply>;
}

/** A face over a scripted stage, on a clock of its own. */
export function faced(limits: Partial<FaceLimits> = {}, more: Partial<FaceOptions> = {}): Faced {
  const stage = new ScriptedStage();
  const clock = new SimulatedClock();
  const face = theaterFace({ stage, clock, limits, ...more });
  const made: Faced = {
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
  return made;
}

/** A text that is one. */
export function textIn(value: unknown): string {
  assert.ok(typeof value === "string", JSON.stringify(value));
  return value;
}

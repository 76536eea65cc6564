// Owns: timers by cron in LocalEngine. Does not own: the times of an expression (contract/cron.ts).
import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { actor } from "../actor/index.ts";
import { memoryStore } from "../store/index.ts";
import { SimulatedClock } from "../../testing/index.ts";
import { LocalEngine } from "./index.ts";

const HOUR = 3_600_000;

for (const persistence of ["memory", "disk"] as const) {
  const alarm = actor("alarm", {
    description: "Rings by the clock on the wall.",
    persistence,
    state: z.object({ rung: z.array(z.string()).default([]) }),
    tools: {
      set: {
        description: "Set it.",
        input: z.object({ cron: z.string() }),
        run: ({ args, wake, messages }) => wake("alarm", { cron: args.cron, timeZone: "Europe/Berlin", message: messages.ring() }),
      },
    },
    messages: {
      ring: {
        run({ state, now }) {
          state.rung.push(new Date(now).toISOString().slice(0, 16));
        },
      },
    },
  });

  const rung = async (cron: string, from: string, hours: number): Promise<readonly string[]> => {
    const clock = new SimulatedClock(Date.parse(from));
    await using engine = await LocalEngine.start({ kinds: [alarm], clock, store: memoryStore({ clock }) });
    await engine.call({ to: alarm.id("main"), action: "tools/set", args: { cron } });
    for (let hour = 0; hour < hours; hour += 1) await clock.advance(HOUR);
    return Object(await engine.read(alarm.id("main"))).state.rung;
  };

  test(`cron: a clock change neither doubles nor loses a daily tick (${persistence}) #actors.wakes.cron`, async () => {
    const spring = await rung("30 2 * * *", "2026-03-27T12:00:00Z", 72);
    assert.deepEqual(spring, ["2026-03-28T01:30", "2026-03-29T01:00", "2026-03-30T00:30"]);
    const autumn = await rung("30 2 * * *", "2026-10-23T12:00:00Z", 72);
    assert.deepEqual(autumn, ["2026-10-24T00:30", "2026-10-25T00:30", "2026-10-26T01:30"]);
  });

  test(`cron: an hourly tick comes each hour of both clock changes (${persistence}) #actors.wakes.cron`, async () => {
    for (const day of ["2026-03-29", "2026-10-25"]) {
      const hours = ["00", "01", "02"].map((hour) => `${day}T${hour}:15`);
      assert.deepEqual(await rung("15 * * * *", `${day}T00:00:00Z`, 3), hours);
    }
  });

  for (const restarted of [false, true])
    if (persistence === "disk" || !restarted)
      test(`cron: after the clock was set back${restarted ? " and a restart" : ""}, ticks come by the wall, and none waits for the clock to catch up (${persistence}) #actors.wakes.cron`, async () => {
        const ringsAt = async (cron: string, back: number, hours: number): Promise<readonly string[]> => {
          // It is eight o'clock in Berlin, which the clock does not show yet.
          const clock = new SimulatedClock(Date.parse("2026-06-01T06:00:00Z") + back);
          const store = memoryStore({ clock });
          const open = () => LocalEngine.start({ kinds: [alarm], clock, store });
          let engine = await open();
          try {
            // Another actor's timer is the first that the store has, before and after.
            await engine.call({ to: alarm.id("other"), action: "tools/set", args: { cron: "*/20 * * * *" } });
            await engine.call({ to: alarm.id("main"), action: "tools/set", args: { cron } });
            await clock.advance(60_000);
            clock.setBack(back);
            if (restarted) {
              await engine[Symbol.asyncDispose]();
              engine = await open();
            }
            for (let hour = 0; hour < hours; hour += 1) await clock.advance(HOUR);
            return Object(await engine.read(alarm.id("main"))).state.rung;
          } finally {
            await engine[Symbol.asyncDispose]();
          }
        };
        const atTwelve = ["2026-06-01T10:00", "2026-06-02T10:00", "2026-06-03T10:00"];
        for (const back of [3 * HOUR, 3 * HOUR - 600_000, 26 * HOUR]) assert.deepEqual(await ringsAt("0 12 * * *", back, 60), atTwelve);
        const hours = await ringsAt("0 * * * *", 3 * HOUR, 6);
        // How long the engine was away it need not know: it waits as long as the timer would have from its start.
        const from = restarted ? 8 : 7;
        assert.deepEqual(
          hours,
          Array.from({ length: 13 - from }, (_, n) => new Date(Date.UTC(2026, 5, 1, from + n)).toISOString().slice(0, 16)),
        );
      });

  test(`cron: a tick that came before the clock was set back does not come again (${persistence}) #actors.wakes.cron`, async () => {
    const clock = new SimulatedClock(Date.parse("2026-06-01T09:00:00Z"));
    await using engine = await LocalEngine.start({ kinds: [alarm], clock, store: memoryStore({ clock }) });
    await engine.call({ to: alarm.id("main"), action: "tools/set", args: { cron: "0 12 * * *" } });
    await clock.advance(HOUR);
    clock.setBack(3 * HOUR);
    for (let hour = 0; hour < 30; hour += 1) await clock.advance(HOUR);
    assert.deepEqual(Object(await engine.read(alarm.id("main"))).state.rung, ["2026-06-01T10:00", "2026-06-02T10:00"]);
  });

  test(`cron: ticks that a sleeping machine missed come once (${persistence}) #actors.wakes.cron`, async () => {
    const clock = new SimulatedClock(Date.parse("2026-06-01T00:00:00Z"));
    await using engine = await LocalEngine.start({ kinds: [alarm], clock, store: memoryStore({ clock }) });
    await engine.call({ to: alarm.id("main"), action: "tools/set", args: { cron: "0 12 * * *" } });
    clock.setForward(10 * 24 * HOUR);
    for (let minute = 0; minute < 3; minute += 1) await clock.advance(60_000);
    const ticks: readonly string[] = Object(await engine.read(alarm.id("main"))).state.rung;
    assert.equal(ticks.length, 1);
    await clock.advance(12 * HOUR);
    assert.equal(Object(await engine.read(alarm.id("main"))).state.rung[1], "2026-06-11T10:00");
  });
}

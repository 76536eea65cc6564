import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { until } from "../../src/testing/index.ts";
import type { ChannelPeer, Stage, StageChange, StageCode, StageEvent } from "../../src/bridges/theater/stage.ts";

/** Where a stage is tried. Disposing of it ends the stage, and what it plays on. */
export interface StagePlace extends AsyncDisposable {
  readonly stage: Stage;
  /**
   * Starts an actor that answers a request with its bytes, and whose state becomes what it is sent, what came over a channel, or the
   * state it is started with. It takes every channel.
   */
  readonly echoManifest: string;
  /** One that fails at this request. */
  readonly failing?: { readonly manifest: string; readonly request: string };
}

/** What not every stage has. */
export interface StageTraits {
  readonly restart: boolean;
  /** A stopped actor's events are still to be had. */
  readonly eventsAfterStop: boolean;
  /** A channel says what the actor said on taking it: what it was opened with. */
  readonly greets: boolean;
  /** What came over a channel comes back over it; `bye` makes the actor close it, and a channel opened with `no` is refused. */
  readonly channelAnswers: boolean;
  /** The state an actor is started with is its own until it is sent something. */
  readonly initialState: boolean;
}

const bytes = (text: string): Uint8Array => Buffer.from(text);
const textOf = (data: Uint8Array | undefined): string | undefined => (data === undefined ? undefined : Buffer.from(data).toString());
const NOBODY = "00000000-0000-4000-8000-000000000000";
const never = new AbortController().signal;
const refused = (code: StageCode) => ({ name: "StageError", code });
const ids = (events: readonly StageEvent[]): readonly string[] => events.map(({ id }) => id);

class Hearing implements ChannelPeer {
  readonly heard: string[] = [];
  readonly why: string[] = [];
  message(data: Uint8Array): void {
    this.heard.push(Buffer.from(data).toString());
  }
  closed(why: string): void {
    this.why.push(why);
  }
}

/** Registers the tests every `Stage` passes, with `node:test`. */
export function stageSuite(name: string, make: () => Promise<StagePlace>, traits: StageTraits): void {
  const it = (title: string, run: (place: StagePlace) => Promise<void>): void => {
    test(title, { timeout: 60_000 }, async () => {
      await using place = await make();
      await run(place);
    });
  };
  const eventsOf = (stage: Stage, id: string): Promise<readonly StageEvent[]> => stage.events(id, { limit: 1_000 });

  describe(name, () => {
    it("what is started is listed, page by page", async ({ stage, echoManifest }) => {
      const before = await stage.count();
      const started = await Promise.all(Array.from({ length: 5 }, () => stage.start({ manifest: echoManifest })));
      for (const actor of started) assert.equal(actor.status, "RUNNING");
      assert.equal(await stage.count(), before + 5);
      const all = (await stage.list(1_000)).map(({ id }) => id);
      for (const { id } of started) assert.ok(all.includes(id));
      const paged: string[] = [];
      for (let page = await stage.list(2); page.length > 0; page = await stage.list(2, paged.at(-1))) {
        assert.ok(page.length <= 2);
        paged.push(...page.map(({ id }) => id));
      }
      assert.deepEqual(paged, all);
    });

    it("an actor's details say who it is and since when", async ({ stage, echoManifest }) => {
      const { id, name: own } = await stage.start({ manifest: echoManifest });
      const details = await stage.actor(id);
      assert.equal(details.id, id);
      assert.equal(details.name, own);
      assert.equal(details.status, "RUNNING");
      assert.equal(details.halted, undefined);
      assert.equal(typeof details.createdAt, "number");
    });

    it("a request is answered, several at once each with its own", async ({ stage, echoManifest }) => {
      const { id } = await stage.start({ manifest: echoManifest });
      const texts = Array.from({ length: 20 }, (_, index) => `request ${index} \u{1f3ad}`);
      const answers = await Promise.all(texts.map((text) => stage.request(id, bytes(text), never)));
      assert.deepEqual(answers.map(textOf), texts);
      assert.equal((await stage.request(id, new Uint8Array(0), never)).length, 0);
    });

    it("what is sent becomes the state", async ({ stage, echoManifest }) => {
      const { id } = await stage.start({ manifest: echoManifest });
      const all = Uint8Array.from({ length: 256 }, (_, index) => index);
      await stage.send(id, all);
      await until("the state", async () => (await stage.state(id))?.length === 256);
      assert.deepEqual(new Uint8Array((await stage.state(id)) ?? []), all);
    });

    if (traits.initialState) {
      it("an actor begins with the state it is started with, or none", async ({ stage, echoManifest }) => {
        const none = await stage.start({ manifest: echoManifest });
        assert.equal(await stage.state(none.id), undefined);
        const some = await stage.start({ manifest: echoManifest, initialState: bytes('{"a":1}') });
        await until("the state", async () => textOf(await stage.state(some.id)) === '{"a":1}');
      });
    }

    it("events are a chain: each names the one before, and the next as its child", async ({ stage, echoManifest }) => {
      const { id } = await stage.start({ manifest: echoManifest });
      await stage.request(id, bytes("one"), never);
      await stage.request(id, bytes("two"), never);
      const events = await eventsOf(stage, id);
      assert.ok(events.length >= 2);
      assert.equal(new Set(ids(events)).size, events.length);
      for (const [index, event] of events.entries()) {
        assert.equal(event.actor, id);
        assert.equal(event.parent, events[index - 1]?.id ?? null);
        const next = events[index + 1];
        if (next !== undefined) assert.equal(event.children[0], next.id);
      }
    });

    it("events are read page by page, forwards and backwards", async ({ stage, echoManifest }) => {
      const { id } = await stage.start({ manifest: echoManifest });
      for (const text of ["one", "two", "three"]) await stage.request(id, bytes(text), never);
      const all = ids(await eventsOf(stage, id));
      assert.ok(all.length >= 3);
      const [first] = all;
      const last = all.at(-1);
      assert.ok(first !== undefined && last !== undefined);
      assert.deepEqual(ids(await stage.events(id, { limit: 2 })), all.slice(-2));
      const forwards = [first];
      for (;;) {
        const page = ids(await stage.events(id, { limit: 2, after: forwards.at(-1) ?? first }));
        assert.ok(page.length <= 2);
        if (page.length === 0) break;
        forwards.push(...page);
      }
      assert.deepEqual(forwards, all);
      assert.deepEqual(ids(await stage.events(id, { limit: 2, before: last })), all.slice(-3, -1));
      assert.deepEqual(await stage.events(id, { limit: 2, before: first }), []);
      await assert.rejects(stage.events(id, { limit: 2, after: "of-no-event" }), refused("InvalidRequest"));
    });

    it("an event whose call changed the state is a StateChanged, and one whose call did not is none", async ({ stage, echoManifest }) => {
      const { id } = await stage.start({ manifest: echoManifest });
      const changes = async (): Promise<number> => (await eventsOf(stage, id)).filter(({ type }) => type === "StateChanged").length;
      await stage.send(id, bytes("another"));
      await until("the state", async () => textOf(await stage.state(id)) === "another");
      const after = await changes();
      assert.ok(after >= 1);
      await stage.request(id, bytes("no change"), never);
      assert.equal(await changes(), after);
    });

    it("an event is found by its id, whoever's it is", async ({ stage, echoManifest }) => {
      const actors = await Promise.all([stage.start({ manifest: echoManifest }), stage.start({ manifest: echoManifest })]);
      for (const { id } of actors) {
        await stage.request(id, bytes("one"), never);
        const [first] = await eventsOf(stage, id);
        assert.ok(first !== undefined);
        assert.deepEqual(await stage.event(first.id), first);
      }
      assert.equal(await stage.event("0".repeat(40)), undefined);
    });

    it("a channel carries messages to the actor until it is closed", async ({ stage, echoManifest }) => {
      const { id } = await stage.start({ manifest: echoManifest });
      const peer = new Hearing();
      const channel = await stage.open(id, bytes("hello"), peer);
      if (traits.greets) assert.equal(textOf(channel.greeting), "hello");
      await channel.send(bytes("over the channel"));
      await until("the state", async () => textOf(await stage.state(id)) === "over the channel");
      await channel.close();
      await assert.rejects(channel.send(bytes("too late")), refused("ChannelClosed"));
      assert.deepEqual(peer.why, []);
    });

    it("two channels to one actor are two", async ({ stage, echoManifest }) => {
      const { id } = await stage.start({ manifest: echoManifest });
      const one = await stage.open(id, bytes("one"), new Hearing());
      const two = await stage.open(id, bytes("two"), new Hearing());
      assert.notEqual(one.id, two.id);
      await one.close();
      await two.send(bytes("still here"));
      await until("the state", async () => textOf(await stage.state(id)) === "still here");
      await two.close();
    });

    if (traits.channelAnswers) {
      it("what the actor says comes back over the channel it belongs to", async ({ stage, echoManifest }) => {
        const { id } = await stage.start({ manifest: echoManifest });
        const [one, two] = [new Hearing(), new Hearing()];
        const first = await stage.open(id, new Uint8Array(0), one);
        const second = await stage.open(id, new Uint8Array(0), two);
        for (const text of ["a", "b", "c"]) await first.send(bytes(text));
        await second.send(bytes("d"));
        await until("the answers", () => one.heard.length === 3 && two.heard.length === 1);
        assert.deepEqual([one.heard, two.heard], [["a", "b", "c"], ["d"]]);
        await second.send(bytes("bye"));
        await until("the end", () => two.why.length > 0);
        assert.equal(two.why.length, 1);
        await assert.rejects(second.send(bytes("too late")), refused("ChannelClosed"));
        assert.deepEqual(one.why, []);
      });

      it("a channel that is refused is ChannelRejected", async ({ stage, echoManifest }) => {
        const { id } = await stage.start({ manifest: echoManifest });
        await assert.rejects(stage.open(id, bytes("no"), new Hearing()), refused("ChannelRejected"));
      });
    }

    it("a channel ends with its actor, once", async ({ stage, echoManifest }) => {
      const { id } = await stage.start({ manifest: echoManifest });
      const peer = new Hearing();
      await stage.open(id, new Uint8Array(0), peer);
      await stage.stop(id);
      await until("the end", () => peer.why.length > 0);
      assert.equal(peer.why.length, 1);
    });

    it("whoever is not there is ActorNotFound, whatever is asked", async ({ stage }) => {
      const gone = refused("ActorNotFound");
      await assert.rejects(stage.actor(NOBODY), gone);
      await assert.rejects(stage.state(NOBODY), gone);
      await assert.rejects(stage.send(NOBODY, bytes("x")), gone);
      await assert.rejects(stage.request(NOBODY, bytes("x"), never), gone);
      await assert.rejects(stage.open(NOBODY, bytes("x"), new Hearing()), gone);
      await assert.rejects(stage.events(NOBODY, { limit: 1 }), gone);
      await assert.rejects(stage.stop(NOBODY), gone);
      await assert.rejects(stage.restart(NOBODY), gone);
      await assert.rejects(stage.actor("not even a UUID"), gone);
    });

    it("a manifest that is none is refused with a sentence, and starts nobody", async ({ stage }) => {
      const before = await stage.count();
      await assert.rejects(stage.start({ manifest: "/there/is/no/such/manifest.toml" }), (error: unknown) => {
        assert.ok(error instanceof Error);
        assert.equal(error.name, "StageError");
        return error.message.length > 20;
      });
      assert.equal(await stage.count(), before);
    });

    it("what is stopped is gone", async ({ stage, echoManifest }) => {
      const { id } = await stage.start({ manifest: echoManifest });
      await stage.request(id, bytes("one"), never);
      const events = ids(await eventsOf(stage, id));
      await stage.stop(id);
      assert.equal(
        (await stage.list(1_000)).some((actor) => actor.id === id),
        false,
      );
      await assert.rejects(stage.request(id, bytes("x"), never), (error: unknown) => error instanceof Error && error.name === "StageError");
      if (traits.eventsAfterStop) {
        const after = ids(await eventsOf(stage, id));
        assert.deepEqual(after.slice(0, events.length), events);
      }
    });

    if (traits.restart) {
      it("a restart keeps id and state", async ({ stage, echoManifest }) => {
        const { id } = await stage.start({ manifest: echoManifest });
        await stage.send(id, bytes("kept"));
        await until("the state", async () => textOf(await stage.state(id)) === "kept");
        const again = await stage.restart(id);
        assert.equal(again.id, id);
        assert.equal(again.status, "RUNNING");
        assert.equal(textOf(await stage.state(id)), "kept");
        assert.equal(textOf(await stage.request(id, bytes("there?"), never)), "there?");
      });
    } else {
      it("a restart that cannot keep id and state says what to do instead", async ({ stage, echoManifest }) => {
        const { id } = await stage.start({ manifest: echoManifest });
        await assert.rejects(stage.restart(id), refused("ActorError"));
      });
    }

    it("an actor whose handler fails says so, and is shown as halted with the reason", async ({ stage, failing }) => {
      if (failing === undefined) return;
      const { id } = await stage.start({ manifest: failing.manifest });
      await assert.rejects(stage.request(id, bytes(failing.request), never), refused("ActorError"));
      const details = await stage.actor(id);
      assert.ok(details.status === "PAUSED" || details.status === "FAILED", details.status);
      assert.ok(details.halted !== undefined && (await stage.event(details.halted.after))?.actor === id && details.halted.why.length > 0);
      await assert.rejects(
        stage.request(id, bytes("again"), never),
        (error: unknown) => error instanceof Error && error.name === "StageError",
      );
    });

    it("whoever leaves is not waited for", async ({ stage, echoManifest }) => {
      const { id } = await stage.start({ manifest: echoManifest });
      await assert.rejects(stage.request(id, bytes("x"), AbortSignal.abort()), (error: unknown) => error instanceof Error);
      assert.equal(textOf(await stage.request(id, bytes("still there"), never)), "still there");
    });

    it("a watcher hears who began, changed and ended, until it leaves", async ({ stage, echoManifest }) => {
      const [heard, left]: [StageChange[], StageChange[]] = [[], []];
      const undo = stage.watch((change) => void heard.push(change));
      stage.watch((change) => void left.push(change))();
      const { id } = await stage.start({ manifest: echoManifest });
      const hears = (what: StageChange["what"]) => heard.some((change) => change.actor === id && change.what === what);
      await until("began", () => hears("began"));
      await until("changed", async () => {
        await stage.send(id, bytes("x"));
        return hears("changed");
      });
      await stage.stop(id);
      await until("ended", () => hears("ended"));
      undo();
      const count = heard.length;
      await stage.start({ manifest: echoManifest });
      assert.equal(heard.slice(count).length, 0);
      assert.deepEqual(left, []);
    });

    it("a listener that throws disturbs nobody", async ({ stage, echoManifest }) => {
      const heard: StageChange[] = [];
      const undos = [
        stage.watch(() => {
          throw new Error("a listener's own");
        }),
        stage.watch((change) => void heard.push(change)),
      ];
      const { id } = await stage.start({ manifest: echoManifest });
      await until("began", () => heard.some(({ actor }) => actor === id));
      for (const undo of undos) undo();
    });
  });
}

import assert from "node:assert/strict";
import { test } from "node:test";
import type { OfferRef, Source, Viewer } from "../../core/contract/index.ts";
import { registry } from "../../mcp/source/index.ts";
import { replaceableSource } from "./source.ts";

const viewer: Viewer = { scopes: [] };
const pages = () => registry({ resources: { page: { uri: "book://{page}", view: ({ args: { page } }) => page ?? "" } } });

test("C8 a subscription to one resource stays limited to it after a replacement", () => {
  const first = pages();
  const switched = replaceableSource(first);
  const heard: (OfferRef | undefined)[] = [];
  const undo = switched.source.watch(viewer, (ref) => heard.push(ref), { ref: "resources/page", args: { page: "1" } });

  first.relist();
  first.changed("page", { page: "2" });
  assert.deepEqual(heard, [], "neither the lists nor another page");
  first.changed("page", { page: "1" });
  assert.deepEqual(heard, ["resources/page"]);

  const second = pages();
  switched.replace(second);
  assert.deepEqual(heard, ["resources/page", "resources/page"], "what it shows may be different now");
  first.changed("page");
  second.relist();
  second.changed("page", { page: "2" });
  assert.equal(heard.length, 2);
  second.changed("page", { page: "1" });
  assert.equal(heard.length, 3);

  undo();
  second.changed("page");
  assert.equal(heard.length, 3);
});

test("a subscriber to lists alone gets no content changes, also after a replacement", () => {
  const [first, second] = [pages(), pages()];
  const switched = replaceableSource(first);
  const heard: (OfferRef | undefined)[] = [];
  switched.source.watch(viewer, (ref) => heard.push(ref), undefined, false);
  first.changed("page");
  switched.replace(second);
  second.changed("page");
  second.relist();
  assert.deepEqual(heard, [undefined, undefined]);
});

test("a watcher that the next source refuses does not keep others at the old one", () => {
  const [first, second] = [pages(), pages()];
  const switched = replaceableSource(first);
  const heard: string[] = [];
  for (const name of ["deaf", "ann"]) switched.source.watch({ principal: name, scopes: [] }, () => heard.push(name));
  const choosy: Source = {
    surface: (whose) => second.surface(whose),
    act: (...call) => second.act(...call),
    watch(whose, ...more) {
      if (whose.principal === "deaf") throw new Error("not this one");
      return second.watch(whose, ...more);
    },
  };
  assert.throws(() => switched.replace(choosy), /not this one/);
  heard.length = 0;
  first.relist();
  assert.deepEqual(heard, []);
  second.relist();
  assert.deepEqual(heard, ["ann"]);
  switched.replace(first);
  heard.length = 0;
  first.relist();
  assert.deepEqual(heard, ["deaf", "ann"]);
});

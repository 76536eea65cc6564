import assert from "node:assert/strict";
import { test } from "node:test";
import { testActor } from "troupe/testing";
import { connect } from "../../test/clients.ts";
import { serveChild } from "../../test/serve-child.ts";
import { reader, shelf } from "./index.ts";

test("a reader waits for the shelf's word, and passes on what it says", () => {
  const ada = testActor(reader, { key: "ada" });
  assert.equal(ada.turn("tools/borrow", { title: "Emma" }, { id: "call-1" }).reply, "later");
  assert.deepEqual(
    ada.sent.map(({ to, action, args, replyAs }) => ({ to, action, args, replyAs })),
    [{ to: "shelf/main", action: "take", args: { title: "Emma" }, replyAs: "answered" }],
  );
  const [of = ""] = Object.keys(ada.state.waiting);
  ada.turn("answered", { of, to: "shelf/main", reply: { ok: "Emma" } });
  assert.deepEqual(ada.answered, { "call-1": { ok: "Emma" } });
  assert.deepEqual(ada.state.books, ["Emma"]);
  assert.equal(ada.timers["Emma"]?.action, "due");
});

test("an answer that comes again, of a dead letter that was replayed, is no other caller's", () => {
  const ada = testActor(reader, { key: "ada" });
  ada.turn("tools/borrow", { title: "Emma" }, { id: "call-1" });
  const [emma = ""] = Object.keys(ada.state.waiting);
  ada.turn("answered", { of: emma, to: "shelf/main", reply: { refused: { code: "CRASHED", message: "It crashed." } } });
  ada.turn("tools/borrow", { title: "Dune" }, { id: "call-2" });
  ada.turn("answered", { of: emma, to: "shelf/main", reply: { ok: "Emma" } });
  assert.deepEqual(Object.keys(ada.answered), ["call-1"]);
  const [dune = ""] = Object.keys(ada.state.waiting);
  ada.turn("answered", { of: dune, to: "shelf/main", reply: { ok: "Dune" } });
  assert.deepEqual(ada.answered["call-2"], { ok: "Dune" });
  assert.deepEqual(ada.state.books, ["Emma", "Dune"]);
});

test("a book that was kept too long is overdue until it is given back", () => {
  const ada = testActor(reader, { state: { books: ["Emma"], overdue: [], waiting: {} } });
  ada.turn("due", { title: "Emma" });
  assert.deepEqual(ada.view("resources/book", { title: "Emma" }), { ok: "Emma: overdue." });
  assert.deepEqual(ada.turn("tools/give_back", { title: "Emma" }).reply, { ok: "Thank you." });
  assert.deepEqual(ada.state, { books: [], overdue: [], waiting: {} });
});

test("a shelf lends each book once", () => {
  const main = testActor(shelf);
  assert.deepEqual(main.turn("take", { title: "Dune" }).reply, { ok: "Dune" });
  assert.deepEqual(main.turn("take", { title: "Dune" }).reply, { refused: { code: "REFUSED", message: "Dune is lent." } });
});

test("two readers share one shelf, and each sees only what it borrowed", { timeout: 60_000 }, async () => {
  await using served = await serveChild(["examples/library"]);
  const http = String(served.ready.http);
  const elicit = () => ({ action: "accept" as const, content: { rating: 5 } });
  await using ada = await connect({ http }, { sdk: "v1", era: "legacy" }, { elicit });
  await using bob = await connect({ http }, { sdk: "v1", era: "legacy" });
  assert.equal((await ada.call("borrow", { title: "Emma" })).text, "Emma");
  assert.equal((await bob.call("borrow", { title: "Emma" })).text, "Emma is lent.");
  assert.equal(await ada.read("library://mine"), '["Emma"]');
  assert.equal(await bob.read("library://mine"), "[]");
  assert.equal((await ada.call("give_back", { title: "Emma" })).text, "Thank you.");
  assert.equal((await bob.call("borrow", { title: "Emma" })).text, "Emma");
  assert.match(await bob.prompt("next", { mood: "brave" }), /I have read Emma and feel brave/);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { testActor } from "troupe/testing";
import { connect } from "../../test/clients.ts";
import { serveChild } from "../../test/serve-child.ts";
import { reader, shelf } from "./index.ts";

test("a reader gets the books and the refusals that the shelf replies with", () => {
  const ada = testActor(reader, { key: "ada" });
  assert.equal(ada.turn("tools/borrow", { title: "Emma" }, { id: "call-1" }).reply, "later");
  ada.turn("tools/borrow", { title: "Dune" }, { id: "call-2" });
  const [emma, dune] = ada.sent;
  assert.ok(emma !== undefined && dune !== undefined);
  assert.deepEqual([emma.to, emma.action, emma.args], ["shelf/main", "take", { title: "Emma" }]);
  ada.reply(emma, { ok: "Emma" });
  ada.reply(dune, { refused: { code: "REFUSED", message: "Dune is lent." } });
  assert.deepEqual(ada.answered, { "call-1": { ok: "Emma" }, "call-2": { refused: { code: "REFUSED", message: "Dune is lent." } } });
  assert.deepEqual(ada.state.books, ["Emma"]);
  assert.equal(ada.timers["Emma"]?.action, "due");
});

test("a loan that succeeds when a dead letter is replayed adds the book to the reader", () => {
  const ada = testActor(reader, { key: "ada" });
  ada.turn("tools/borrow", { title: "Emma" }, { id: "call-1" });
  const [emma] = ada.sent;
  assert.ok(emma !== undefined);
  const crashed = { refused: { code: "CRASHED", message: "It crashed." } };
  ada.reply(emma, crashed);
  ada.reply(emma, { ok: "Emma" });
  assert.deepEqual([ada.answered, ada.state.books], [{ "call-1": crashed }, ["Emma"]]);
});

test("a book is overdue after its due date, until it is given back", () => {
  const ada = testActor(reader, { state: { books: ["Emma"], overdue: [] } });
  ada.turn("due", { title: "Emma" });
  assert.deepEqual(ada.view("resources/book", { title: "Emma" }), { ok: "Emma: overdue." });
  assert.deepEqual(ada.turn("tools/give_back", { title: "Emma" }).reply, { ok: "Thank you." });
  assert.deepEqual(ada.state, { books: [], overdue: [] });
});

test("a shelf lends each book once", () => {
  const main = testActor(shelf);
  assert.deepEqual(main.turn("take", { title: "Dune" }).reply, { ok: "Dune" });
  assert.deepEqual(main.turn("take", { title: "Dune" }).reply, { refused: { code: "REFUSED", message: "Dune is lent." } });
});

test("two readers share one shelf, and each sees only its own loans", { timeout: 60_000 }, async () => {
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

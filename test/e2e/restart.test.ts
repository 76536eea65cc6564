// A server that stops and starts again: sessions, subscriptions, handles and questions survive, running calls end
// first, and no second server can use the directory.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { troupe } from "../cli/run.ts";
import { folder } from "../quest-client.ts";
import { type Served, serveChild } from "../serve-child.ts";
import { at, envelope, events, type HttpAnswer, isJsonObject, modern, modernHeaders, opened, resumed, send } from "../wire.ts";

const MUD = "examples/mud";
const STATE = "game://player/state";

const urlOf = ({ ready }: Served): string => {
  assert.ok(ready.http !== undefined);
  return ready.http;
};
const text = ({ reply }: HttpAnswer): string => String(at(reply, "result", "content", 0, "text"));
const ok = (answer: HttpAnswer): HttpAnswer => {
  assert.ok(at(answer.reply, "result") !== undefined && at(answer.reply, "result", "isError") !== true, JSON.stringify(answer.reply));
  return answer;
};
const call = (name: string, args: object = {}) => ({ name, arguments: args });
const updated = (message: unknown): boolean => at(message, "method") === "notifications/resources/updated";

describe("a restarted server", () => {
  test("restores its legacy sessions with their principals and subscriptions #sessions.restart", async () => {
    using place = folder();
    let id = "";
    {
      await using served = await serveChild([MUD], { data: place.path });
      const session = await opened(urlOf(served));
      ({ id } = session);
      ok(await session.request("tools/call", call("pick_up", { item: "torch" })));
      ok(await session.request("resources/subscribe", { uri: STATE }));
      ok(await session.request("logging/setLevel", { level: "error" }));
    }
    await using served = await serveChild([MUD], { data: place.path });
    const session = resumed(urlOf(served), id);
    assert.match(text(ok(await session.request("tools/call", call("inventory")))), /You carry: Torch/);
    await using stream = await events(urlOf(served), session.headers);
    assert.equal(stream.status, 200);
    ok(await session.request("tools/list"));
    ok(await session.request("tools/call", call("drop", { item: "torch" })));
    const notice = await stream.until(updated);
    assert.equal(at(notice, "params", "uri"), STATE);
    await stream.until((message) => at(message, "method") === "notifications/tools/list_changed");
    const ended = await send(urlOf(served), undefined, session.headers, "DELETE");
    assert.ok(ended.status === 200 || ended.status === 204);
    assert.equal((await session.request("tools/list")).status, 404);
  });

  test("recognizes the handles it issued, also unused ones #sources.handles.expiry", async () => {
    using place = folder();
    const handles: string[] = [];
    {
      await using served = await serveChild([MUD], { data: place.path });
      for (let count = 0; count < 2; count += 1)
        handles.push(
          String(at(ok(await modern(urlOf(served), "tools/call", call("start_player"))).reply, "result", "structuredContent", "handle")),
        );
      ok(await modern(urlOf(served), "tools/call", call("pick_up", { item: "torch", handle: handles[0] })));
    }
    await using served = await serveChild([MUD], { data: place.path });
    const inventory = async (handle: string | undefined): Promise<string> =>
      text(ok(await modern(urlOf(served), "tools/call", call("inventory", { handle }))));
    assert.match(await inventory(handles[0]), /Torch/);
    assert.match(await inventory(handles[1]), /You carry nothing/);
  });

  test("accepts the answer to a question from before the restart #gateway.needs.modern", async () => {
    using place = folder();
    let handle = "";
    let question: unknown;
    const asking = { "io.modelcontextprotocol/clientCapabilities": { elicitation: {} } };
    const battle = (url: string, more: object = {}): Promise<HttpAnswer> =>
      modern(url, "tools/call", { ...call("battle", { handle }), ...more, _meta: asking });
    {
      await using served = await serveChild([MUD], { data: place.path });
      handle = String(
        at(ok(await modern(urlOf(served), "tools/call", call("start_player"))).reply, "result", "structuredContent", "handle"),
      );
      for (const direction of ["north", "east", "south"])
        ok(await modern(urlOf(served), "tools/call", call("move", { direction, handle })));
      question = at((await battle(urlOf(served))).reply, "result");
      assert.equal(at(question, "resultType"), "input_required");
    }
    await using served = await serveChild([MUD], { data: place.path });
    const requests = at(question, "inputRequests");
    const [key = ""] = Object.keys(isJsonObject(requests) ? requests : {});
    const answer = {
      inputResponses: { [key]: { action: "accept", content: { confirm: true } } },
      requestState: at(question, "requestState"),
    };
    assert.equal(at(ok(await battle(urlOf(served), answer)).reply, "result", "resultType"), "complete");
  });

  test("has everything it acknowledged, even if it was killed #store.crashes", async () => {
    using place = folder();
    let acknowledged = 0;
    for (let round = 0; round < 3; round += 1) {
      const served = await serveChild(["examples/counter-disk"], { data: place.path });
      const adds = Array.from({ length: 8 }, async () => {
        const { reply } = await modern(urlOf(served), "tools/call", call("add"));
        acknowledged = Math.max(acknowledged, Number(at(reply, "result", "content", 0, "text")));
      });
      await Promise.any(adds);
      served.child.kill("SIGKILL");
      assert.equal(await served.ended, "SIGKILL");
      await Promise.allSettled(adds);
      await using again = await serveChild(["examples/counter-disk"], { data: place.path });
      const count = Number(text(ok(await modern(urlOf(again), "tools/call", call("get")))));
      assert.ok(count >= acknowledged && count <= 8 * (round + 1), `${count} of ${acknowledged} acknowledged`);
      acknowledged = count;
    }
    assert.equal((await troupe("verify", "--data", place.path, "--json")).code, 0);
  });
});

test("a client that resumes a broken stream is notified of changes it missed #gateway.http.event-ids", async () => {
  await using served = await serveChild([MUD]);
  const url = urlOf(served);
  const ada = await opened(url);
  const bob = await opened(url);
  ok(await ada.request("resources/subscribe", { uri: "game://room/current" }));
  ok(await ada.request("tools/call", call("say", { text: "hello" })));
  {
    await using stream = await events(url, ada.headers);
    ok(await bob.request("tools/call", call("say", { text: "hello" })));
    await stream.until(updated);
    ok(await ada.request("tools/list"));
  }
  ok(await bob.request("tools/call", call("pick_up", { item: "torch" })));
  await using stream = await events(url, ada.headers);
  await stream.until(updated);
  await stream.until((message) => at(message, "method") === "notifications/tools/list_changed");
});

describe("a stopping server", () => {
  test("completes running calls, refuses new ones, and exits with 0 #cli.sigterm", async () => {
    using place = folder();
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    {
      await using served = await serveChild(["test/e2e/patient.fixture.ts"], { data: place.path });
      const url = urlOf(served);
      const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { ...call("wait"), _meta: { ...envelope(), progressToken: 1 } } };
      const response = await fetch(url, {
        method: "POST",
        headers: {
          accept: "application/json, text/event-stream",
          "content-type": "application/json",
          ...modernHeaders("tools/call", "wait"),
        },
        body: JSON.stringify(body),
      });
      let received = "";
      const reading = (async () => {
        if (response.body === null) return;
        for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
          received += chunk;
          if (received.includes("notifications/progress")) begin();
        }
      })();
      await begun;
      served.child.kill("SIGTERM");
      await reading;
      assert.match(received, /"text":"Done\."/);
      assert.equal(await served.ended, 0);
      await assert.rejects(modern(url, "tools/call", call("get")));
    }
    await using served = await serveChild(["test/e2e/patient.fixture.ts"], { data: place.path });
    assert.equal(text(ok(await modern(urlOf(served), "tools/call", call("get")))), "1");
  });

  test("does not wait for a user's answer beyond its grace period, and applies nothing", async () => {
    using place = folder();
    const served = await serveChild([MUD, "--grace", "100"], { data: place.path });
    const session = await opened(urlOf(served), {}, "2025-11-25", { elicitation: {} });
    for (const direction of ["north", "east", "south"]) ok(await session.request("tools/call", call("move", { direction })));
    const listening = await fetch(urlOf(served), {
      method: "POST",
      headers: { accept: "application/json, text/event-stream", "content-type": "application/json", ...session.headers },
      body: JSON.stringify({ jsonrpc: "2.0", id: 99, method: "tools/call", params: call("battle") }),
    });
    const reader = listening.body?.pipeThrough(new TextDecoderStream()).getReader();
    let received = "";
    while (!received.includes("elicitation/create")) received += (await reader?.read())?.value ?? "";
    served.child.kill("SIGTERM");
    assert.equal(await served.ended, 0);
    await reader?.cancel().catch(() => undefined);
    await using again = await serveChild([MUD], { data: place.path });
    const room = await resumed(urlOf(again), session.id).request("resources/read", { uri: "game://room/current" });
    assert.match(String(at(ok(room).reply, "result", "contents", 0, "text")), /pitch dark/);
  });

  test("completes open listen requests", async () => {
    await using served = await serveChild([MUD]);
    const params = { notifications: { toolsListChanged: true }, _meta: envelope() };
    const listening = send(
      urlOf(served),
      { jsonrpc: "2.0", id: "l", method: "subscriptions/listen", params },
      modernHeaders("subscriptions/listen"),
    );
    await modern(urlOf(served), "tools/list");
    served.child.kill("SIGTERM");
    const { messages } = await listening;
    assert.equal(at(messages[0], "method"), "notifications/subscriptions/acknowledged");
    assert.equal(at(messages.at(-1), "result", "resultType"), "complete");
    assert.equal(await served.ended, 0);
  });
});

describe("one directory", () => {
  test("has one server: a second one names the holder and exits with 6, and the first goes on #store.lock", async () => {
    await using served = await serveChild(["examples/counter-disk"]);
    const second = await troupe("serve", "examples/counter-disk", "--http", "127.0.0.1:0", "--data", served.data, "--json");
    assert.equal(second.code, 6);
    assert.match(second.stderr, new RegExp(`STORE_LOCKED.*${served.child.pid}`));
    assert.equal(text(ok(await modern(urlOf(served), "tools/call", call("add")))), "1");
    served.child.kill("SIGKILL");
    assert.equal(await served.ended, "SIGKILL");
    // The lock of a dead process is released.
    await using next = await serveChild(["examples/counter-disk"], { data: served.data });
    assert.equal(text(ok(await modern(urlOf(next), "tools/call", call("get")))), "1");
  });
});

// Owns: the playground: an MCP client in the page, over the same transport as any other client's. Does not own: its parts (playground/*).
import { useEffect } from "preact/hooks";
import { useLocation } from "wouter-preact";
import { isObject } from "../json.ts";
import { useParameter } from "../page-state.ts";
import { ConnectionBar } from "./playground/connection-bar.tsx";
import {
  client,
  connect,
  identity,
  identityInAddress,
  identityParameters,
  isSameIdentity,
  lists,
  status,
} from "./playground/connection.ts";
import { Messages } from "./playground/messages.tsx";
import { Offers } from "./playground/offers.tsx";
import { PromptPanel } from "./playground/prompt-panel.tsx";
import { QuestionDialog } from "../ui/question-dialog.tsx";
import { ResourcePanel } from "./playground/resource-panel.tsx";
import { ToolPanel } from "./playground/tool-panel.tsx";
import { Welcome } from "./playground/welcome.tsx";
import "./playground/playground.css";

export function Playground() {
  const [tool] = useParameter("tool");
  const [prompt] = useParameter("prompt");
  const [resource] = useParameter("resource");
  const [args] = useParameter("args");
  const [, navigate] = useLocation();
  useEffect(() => {
    const wanted = identityInAddress();
    // It stays connected while other pages are open: a session may own actors.
    if (wanted !== undefined && !isSameIdentity(wanted, identity.peek())) void connect(wanted);
    else if (status.peek() === "closed") void connect();
    if (wanted !== undefined) return;
    const params = new URLSearchParams(location.search);
    for (const [name, value] of identityParameters()) params.set(name, value);
    if (params.size > 0) navigate(`/playground?${params}`, { replace: true });
  }, [navigate]);
  useEffect(() => {
    const end = (): void => client.peek()?.close();
    addEventListener("pagehide", end);
    return () => removeEventListener("pagehide", end);
  }, []);
  const given = argumentsIn(args);
  return (
    <div class="playground">
      <h1>Playground</h1>
      <ConnectionBar />
      <div class="playground-panes">
        <Offers chosen={{ tool, prompt, resource }} />
        <section class="workbench" aria-label="Call">
          {tool !== "" ? (
            <ToolPanel
              key={`${tool} ${args} ${lists.value.tools === undefined}`}
              name={tool}
              tool={lists.value.tools?.find(({ name }) => name === tool)}
              given={given}
            />
          ) : prompt !== "" ? (
            <PromptPanel
              key={`${prompt} ${args}`}
              name={prompt}
              prompt={lists.value.prompts?.find(({ name }) => name === prompt)}
              given={given}
            />
          ) : resource !== "" ? (
            <ResourcePanel key={resource} uri={resource} />
          ) : (
            <Welcome />
          )}
        </section>
        <Messages />
      </div>
      <QuestionDialog />
    </div>
  );
}

function argumentsIn(text: string) {
  try {
    const value: unknown = JSON.parse(text === "" ? "{}" : text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

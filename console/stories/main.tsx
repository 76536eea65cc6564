// Owns: the page of stories: each part of the console's pages with its states. `?open=` opens one dialog. Does not own: the stories.
import type { ComponentType } from "preact";
import { render } from "preact";
import { Router } from "wouter-preact";
import { ApiError } from "../src/api.ts";
import { SignIn } from "../src/sign-in.tsx";
import { Confirm } from "../src/ui/confirm.tsx";
import { Toasts } from "../src/ui/toasts.tsx";
import { dataStories } from "./data.tsx";
import { Dialogs } from "./dialogs.tsx";
import { formStories } from "./forms.tsx";
import { stateStories } from "./states.tsx";
import "../src/style.css";
import "./stories.css";

export type Stories = Readonly<Record<string, ComponentType>>;

const ALL: Stories = { ...stateStories, ...dataStories, ...formStories };

const open = new URLSearchParams(location.search).get("open") ?? "";
const NO_SCOPE = new ApiError("SCOPE", "The console needs the scope troupe:operate: sign in with a key or token that has it.", 403);

function Page() {
  if (open === "sign-in") return <SignIn error={NO_SCOPE} />;
  return (
    <Router>
      <main class="stories">
        <h1>Parts of the console</h1>
        {Object.entries(ALL).map(([name, Story]) => (
          <section key={name} aria-label={name} data-story={name}>
            <h2>{name}</h2>
            <Story />
          </section>
        ))}
      </main>
      <Dialogs open={open} />
      <Confirm />
      <Toasts />
    </Router>
  );
}

const root = document.getElementById("app");
if (root !== null) render(<Page />, root);

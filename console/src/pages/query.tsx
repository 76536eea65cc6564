// Owns: the page on which operators query actors, events and messages in SQL. Does not own: the rows (query/result.tsx), views and stored
// queries (query/side.tsx), the editor (ui/code-editor.tsx).
import { useCallback, useEffect, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import type { SqlViews } from "../../../src/bridges/console/shapes.ts";
import { get } from "../api.ts";
import { useParameter } from "../page-state.ts";
import { useResource } from "../resource.ts";
import { isMac } from "../shortcuts.ts";
import { CodeEditor } from "../ui/code-editor.tsx";
import type { CodeEditorView } from "../ui/code-editor/codemirror.ts";
import { copyText } from "../ui/copy.tsx";
import { PageHead } from "../ui/page-head.tsx";
import { SaveAs } from "../ui/save-as.tsx";
import { RequireAbility } from "../ui/require-ability.tsx";
import { ErrorNote, Loading } from "../ui/states.tsx";
import { toast } from "../ui/toasts.tsx";
import { EXAMPLES } from "./query/examples.ts";
import { Result } from "./query/result.tsx";
import { useQueryRun } from "./query/run.ts";
import { Side } from "./query/side.tsx";
import { saveQuery } from "./query/stored.ts";

const WHAT = "actors, events and messages, in SQL";

export function Query() {
  return (
    <RequireAbility ability="sql" title="Query" what={WHAT}>
      <QueryPage />
    </RequireAbility>
  );
}

function QueryPage() {
  const views = useResource("sql views", (signal) => get<SqlViews>("/sql", undefined, signal));
  if (views.data.value !== undefined) return <Editor views={views.data.value.views} />;
  return (
    <>
      <PageHead title="Query" what={WHAT} />
      {views.error.value === undefined ? <Loading what="the views" /> : <ErrorNote error={views.error.value} retry={views.reload} />}
    </>
  );
}

function Editor({ views }: { readonly views: SqlViews["views"] }) {
  // The query that ran last is in the address, so that a link leads to its result.
  const [sent, setSent] = useParameter("sql");
  const text = useSignal(sent === "" ? (EXAMPLES[0]?.sql ?? "") : sent);
  const view = useRef<CodeEditorView | undefined>(undefined);

  const language = useCallback(
    async () =>
      (await import("../ui/code-editor/sql.ts")).sqlLanguage(
        Object.fromEntries(views.map(({ name, columns }) => [name, columns.map((column) => column.name)])),
      ),
    [views],
  );
  const { last, running, run, cancel } = useQueryRun(({ sql, error }) => {
    if (error?.at !== undefined && text.value === sql) view.current?.select(error.at);
  });
  const submit = (): void => {
    if (text.value.trim() === "") return;
    if (text.value === sent) run(sent);
    else setSent(text.value, { push: true });
  };
  // Also where the user goes back in the tab's history.
  useEffect(() => {
    if (sent === "") return undefined;
    text.value = sent;
    run(sent);
    return cancel;
  }, [sent, text, run, cancel]);

  const { error, result } = last.value ?? {};
  return (
    <>
      <PageHead title="Query" what={WHAT} />
      <div class="query">
        <div class="query-main">
          <CodeEditor
            label="Query in SQL"
            hideLabel
            lines={7}
            value={text.value}
            onChange={(next) => (text.value = next)}
            onSubmit={submit}
            language={language}
            view={view}
            problem={error?.code === "SQL_WRONG" && last.value?.sql === text.value ? error.message : undefined}
          />
          <div class="row">
            {!running.value ? (
              <button type="button" class="primary" onClick={submit}>
                Run <kbd>{isMac ? "⌘" : "Ctrl"} Enter</kbd>
              </button>
            ) : (
              <button type="button" onClick={cancel}>
                Cancel
              </button>
            )}
            <SaveAs
              what="query"
              name=""
              onSave={(title) => {
                saveQuery({ title, sql: text.value });
                toast("Saved in this browser.");
              }}
            />
            <button type="button" class="quiet" onClick={() => void copyText(linkTo(text.value), "the link")}>
              Copy link
            </button>
            {!running.value ? null : (
              <span class="dim" role="status">
                Running, for at most 10 seconds …
              </span>
            )}
          </div>
          {error === undefined || error.code === "SQL_WRONG" ? null : <ErrorNote error={error} />}
          {result === undefined ? null : <Result result={result} />}
        </div>
        <Side
          views={views}
          onInsert={(name) => {
            if (view.current === undefined) text.value += name;
            else view.current.insert(name);
          }}
          onOpen={(sql) => {
            text.value = sql;
            view.current?.select(0);
          }}
        />
      </div>
    </>
  );
}

function linkTo(sql: string): string {
  const url = new URL(location.href);
  url.search = new URLSearchParams({ sql }).toString();
  url.hash = "";
  return url.href;
}

// Owns: asking for a token where there is none, or one that is refused. Does not own: keeping it (session.ts).
import { useSignal } from "@preact/signals";
import type { ApiError } from "./api.ts";
import { BASE } from "./base-path.ts";
import { signedOut, signIn, signOut, token } from "./session.ts";

export function SignIn({ error }: { readonly error: ApiError }) {
  const visible = useSignal(false);
  const isRefused = error.status === 401 && token.value !== undefined;
  const lacksScope = error.status === 403;
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const field = event.currentTarget instanceof HTMLFormElement ? event.currentTarget.elements.namedItem("secret") : undefined;
    if (field instanceof HTMLInputElement && field.value.trim() !== "") signIn(field.value.trim());
  };
  return (
    <main class="sign-in">
      <img src={`${BASE}/icon.svg`} alt="" width="40" height="40" />
      <h1>{lacksScope ? "This key may not use the console" : "Sign in to the console"}</h1>
      {signedOut.value === "expired" ? (
        <p class="notice" role="status">
          You were signed out: the token is no longer valid. It expired, or the server was started anew and printed a new link.
        </p>
      ) : isRefused ? (
        <p class="notice bad" role="alert">
          The server does not accept that token or key.
        </p>
      ) : null}
      <p>
        {error.code === "HTTP"
          ? "This server knows its users by key or token. The console needs one that has the scope troupe:operate."
          : error.message}
      </p>
      <form onSubmit={submit}>
        <label htmlFor="secret">Token, API key, or the link that the server printed</label>
        <div class="row secret">
          <input
            id="secret"
            name="secret"
            type={visible.value ? "text" : "password"}
            autocomplete="off"
            spellcheck={false}
            required
            // oxlint-disable-next-line jsx-a11y/no-autofocus -- it is the only thing to do on this page
            autofocus
          />
          <button type="button" aria-pressed={visible.value} onClick={() => (visible.value = !visible.value)}>
            {visible.value ? "Hide" : "Show"}
          </button>
        </div>
        <button type="submit" class="primary">
          Sign in
        </button>
        {lacksScope ? (
          <button type="button" onClick={() => signOut()}>
            Forget this key
          </button>
        ) : null}
      </form>
      <p class="dim">It stays in this tab until you close it, and is sent to this server only.</p>
    </main>
  );
}

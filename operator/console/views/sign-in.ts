/** [P] The page where people sign in: with a token of the cluster, or with the admin token of this machine. */
import { flag, html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import type { ConsoleAccess } from '../access/access.ts';

export interface SignInFacts {
  readonly place: ConsoleAccess['place'];
  /** Where to go then; a path of the console. */
  readonly next: string;
  /** Why the page is shown, in words; undefined: because somebody came. */
  readonly notice: string | undefined;
  /** What was wrong with the token that was tried last. */
  readonly fault: string | undefined;
  /** A link led here from another site, so the browser did not say whether somebody is signed in. */
  readonly fromElsewhere: boolean;
}

interface PlaceWords {
  readonly lede: Html;
  readonly hint: Html;
  readonly label: string;
}

/** The content of <main>. */
export function signInView({ place, next, notice, fault, fromElsewhere }: SignInFacts): Html {
  const { lede, hint, label } = WORDS[place];
  const described = fault === undefined ? NOTHING : html` aria-invalid="true" aria-describedby="token-fault"`;
  return html`<h1>Sign in</h1>
${notice === undefined ? NOTHING : html`<p class="notice" role="status">${notice}</p>
`}${fromElsewhere ? goOn(next) : NOTHING}<p class="lede">${lede}</p>
<form class="form section" method="post" action="/sign-in">
<input type="hidden" name="next" value="${next}">
<div class="field">${hint}</div>
<p class="field">
<label for="token">${label}</label>
<input id="token" name="token" type="password" autocomplete="off" autocapitalize="off" spellcheck="false"${flag('required', true)}${flag('autofocus', true)}${described}>
${fault === undefined ? NOTHING : html`<span class="fault" id="token-fault" role="alert">${fault}</span>
`}</p>
<p class="form-actions"><button type="submit" class="button primary">Sign in</button></p>
</form>`;
}

function goOn(next: string): Html {
  return html`<p class="notice">You followed a link from another site. If you are signed in already, <a href="${next}">go on to the page</a>.</p>
`;
}

const WORDS: Readonly<Record<ConsoleAccess['place'], PlaceWords>> = {
  Kubernetes: {
    lede: html`Show a token of this cluster. The console does everything with it, so you see and change here exactly what you may see and change with <code>kubectl</code>.`,
    hint: html`<p class="hint">A token for a service account, good for eight hours:</p>
<pre class="code"><code>kubectl create token NAME --namespace NAMESPACE --duration 8h</code></pre>`,
    label: 'Token',
  },
  Files: {
    lede: html`Show the admin token of this gateway. It was printed when the gateway first started.`,
    hint: html`<p class="hint">It is kept in the data folder:</p>
<pre class="code"><code>cat DATA-FOLDER/console/admin-token</code></pre>`,
    label: 'Admin token',
  },
};

/** [P] Where the list of keys has nothing to show: why, and what to do. */
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { linesOf } from './lines.ts';
import { missingRight } from './rights-words.ts';
import type { Place } from './rights-words.ts';

/** There is no key at all. */
export function renderNoKeys(mayCreate: boolean, place: Place): Html {
  return html`<div class="empty" id="no-keys"><h2>No keys yet</h2>
<p>With an API key, a program calls the models that its group opens: with the OpenAI or the Anthropic SDK, at this gateway's address.</p>
${mayCreate
    ? html`<div class="actions"><a class="button primary" href="/keys/new">Create your first key</a></div>`
    : html`<p>You may see keys, but not create any. ${missingRight(place, 'create')}</p>`}</div>`;
}

/** There are keys, but none that is asked for. */
export function renderNoMatch(): Html {
  return html`<div class="empty" id="no-match"><h2>No key matches</h2><p>Search for fewer words, or choose other filters.</p>
<div class="actions"><a class="button" href="/keys">Show all keys</a></div></div>`;
}

/** The person may see no key, as far as anybody can tell. */
export function renderNotAllowed(person: string, place: Place): Html {
  return html`<div class="page-head"><h1>API keys</h1></div>
<div class="empty" id="not-allowed"><h2>You may not see any API keys</h2>
<p>Signed in as <b><bdi>${person}</bdi></b>. To see the keys of a namespace takes the rights <code>get</code> and <code>list</code> on \
<code>apikeys.modelgateway.dev</code> there; to work with them, <code>create</code>, <code>patch</code> and <code>delete</code> as well, and <code>get</code> on the keys' <code>secrets</code> to be shown a new key.</p>
${place === 'Kubernetes' ? html`<p>Whoever administers the namespace can give them:</p><pre class="code">${linesOf(grantCommands(person))}</pre>` : NOTHING}</div>`;
}

function grantCommands(person: string): string {
  const user = `'${person.replaceAll("'", String.raw`'\''`)}'`;
  return `kubectl create role api-keys -n NAMESPACE \\
  --verb=get,list,create,patch,delete \\
  --resource=apikeys.modelgateway.dev
kubectl create rolebinding api-keys -n NAMESPACE \\
  --role=api-keys --user=${user}`;
}

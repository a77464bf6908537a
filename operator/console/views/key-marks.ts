/** [P] Whether a key works, as a mark; why not, in the gateway's words, when one asks. */
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import type { Readiness } from './key-facts.ts';

const WORDS: Readonly<Record<string, string>> = {
  Disabled: 'Disabled', Expired: 'Expired', LimitReached: 'Limit reached', SecretPending: 'Waiting for its key', Reconciling: 'On its way', Pending: 'Waiting',
};

/** One mark; with a message it can be opened. */
export function readyMark({ state, reason, message, underWay }: Readiness): Html {
  if (state === 'Ready') return html`<span class="dot good">Ready</span>`;
  const tone = toneOf(reason, underWay);
  const mark = html`<span class="dot ${tone}">${WORDS[reason] ?? reason}</span>`;
  if (message === '') return mark;
  return html`<details class="why"><summary>${state === 'NotReady' && !underWay ? html`<span class="vh">Not ready: </span>` : NOTHING}${mark}</summary><p>${message}</p></details>`;
}

function toneOf(reason: string, underWay: boolean): string {
  if (reason === 'Disabled') return 'quiet';
  return underWay ? 'info' : 'bad';
}

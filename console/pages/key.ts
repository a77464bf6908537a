/** The overview of a key: what it has spent, what remains, and what it is. */
import { html } from '#web/html.ts';
import { renderKeyFacts } from '../keys/key-facts.ts';
import { keyTabPage } from '../keys/key-tabs.ts';
import { requestedKey } from '../keys/requested-key.ts';
import type { HandlerResult, ConsoleRoute, PageRequest } from '../route.ts';

export const keyRoutes: readonly ConsoleRoute[] = [
  { method: 'GET', path: '/keys/:namespace/:name', handle: showKey },
];

async function showKey(request: PageRequest): Promise<HandlerResult> {
  const apiKey = await requestedKey(request);
  const body = html`<section class="card" aria-labelledby="glance">${renderKeyFacts(apiKey, request.nowMs)}</section>`;
  return keyTabPage(request, apiKey, { tab: 'overview', body });
}

/** The refused calls of an account or of one key: counts by day and reason, and the latest with the API's words. */
import { html } from '#web/html.ts';
import { OBJECT } from '../request-schema.ts';
import { route } from '../route.ts';
import type { HandlerResult, ConsoleRoute, PageRequest } from '../route.ts';
import { readRefusals } from '../queries/refusals.ts';
import { renderRefusals } from '../components/refusals.ts';
import { callQueryOf, KEY_QUERY, keyNames, readVisibleCalls } from '../queries/visible-calls.ts';
import { renderWalletHead } from './head.ts';

const MOST = 200;

async function showRefused(
  request: PageRequest<{ readonly params: typeof OBJECT; readonly query: typeof KEY_QUERY }>,
): Promise<HandlerResult> {
  const visible = await readVisibleCalls(request);
  const { ref, key } = visible;
  const [names, refusals] = await Promise.all([
    keyNames(visible, request),
    readRefusals(request, callQueryOf(visible), MOST),
  ]);
  const head = renderWalletHead({ ref, key: key?.metadata.name, here: 'Refused calls' });
  const body = html`${head} ${renderRefusals(refusals, { ref, names, key: key?.metadata.name })}`;
  return { page: { title: `Refused calls · ${ref.name} · Wallet`, active: 'wallet', body, styles: ['wallet.css'] } };
}

export const refusedRoutes: readonly ConsoleRoute[] = [
  route({
    method: 'GET',
    path: '/wallet/:namespace/:name/refused',
    params: OBJECT,
    query: KEY_QUERY,
    handle: showRefused,
  }),
];

/** The overview of a key: its status, what remains, and what it is; and the change of its limit from there. */
import { Type } from 'typebox';
import { parseDecimal } from '#snapshot/decimal.ts';
import { html, NOTHING } from '#web/html.ts';
import { AccessError } from '../access/access.ts';
import { groupNames } from '../queries/names.ts';
import { readKeyStatuses } from '../queries/key-statuses.ts';
import { renderKeyOverview } from './overview-view.ts';
import { DONE_QUERY, keyTabPage } from './tabs.ts';
import { renderLimitDialog } from './limit-dialog.ts';
import { changeKey, requestedKey, requestedKeyWithUid } from './requested-key.ts';
import type { KeyRequest } from './requested-key.ts';
import { formText, OBJECT } from '../request-schema.ts';
import { route } from '../route.ts';
import type { HandlerResult, ConsoleRoute, PageRequest } from '../route.ts';
import { keyPath } from '../paths.ts';
import { UNLIMITED } from '../queries/key-facts.ts';
import { doneNotice } from '../components/notice.ts';

const LIMIT_FORM = Type.Object({
  uid: formText(),
  limitUsd: formText(),
  /** "Unlimited": the amount does not count. */
  to: formText(),
});

export const keyOverviewRoutes: readonly ConsoleRoute[] = [
  route({ method: 'GET', path: '/keys/:namespace/:name', params: OBJECT, query: DONE_QUERY, handle: showKey }),
  route({
    method: 'POST',
    path: '/keys/:namespace/:name/limit',
    params: OBJECT,
    form: LIMIT_FORM,
    handle: changeLimit,
  }),
];

const LIMIT_CHANGED = 'The limit is changed. It is in force on all proxies within seconds.';

async function showKey(
  request: KeyRequest & PageRequest<{ readonly query: typeof DONE_QUERY }>,
): Promise<HandlerResult> {
  const { person, deps, nowMs, csrf } = request;
  const apiKey = await requestedKey(request);
  const { namespace, name } = apiKey.metadata;
  const [mayChange, statusOf] = await Promise.all([
    person.may('patch', 'ApiKey', { namespace, name }),
    readKeyStatuses(request, [apiKey]),
  ]);
  const body = html`${doneNotice(request.query.done === 'limit' ? LIMIT_CHANGED : undefined)}${renderKeyOverview({
    apiKey,
    finding: statusOf(apiKey),
    nowMs,
    group: groupNames(deps).get(apiKey.spec.groupRef.name) ?? apiKey.spec.groupRef.name,
    changeLimit: mayChange ? renderLimitDialog(apiKey, csrf) : NOTHING,
  })}`;
  return keyTabPage(request, apiKey, { tab: 'overview', body });
}

/** "Unlimited", or a decimal; what the API refuses beyond that has its own page. */
async function changeLimit(
  request: KeyRequest & PageRequest<{ readonly form: typeof LIMIT_FORM }>,
): Promise<HandlerResult> {
  const { form } = request;
  const live = await requestedKeyWithUid(request, form.uid ?? '');
  const typed = (form.limitUsd ?? '').trim();
  const limitUsd = form.to === UNLIMITED ? UNLIMITED : typed.replace(/^\$\s*/, '');
  if (limitUsd !== UNLIMITED && parseDecimal(limitUsd) === undefined)
    throw new AccessError('Invalid', `"${typed}" is not an amount of US dollars, such as 25.00. Nothing was changed.`);
  if (limitUsd !== live.spec.quota.limitUsd) await changeKey(request, live, { quota: { limitUsd } });
  return { redirect: `${keyPath(live)}?done=limit` };
}

/** The platform team's routes and channels, and how a channel is drained. */
import { Type } from 'typebox';
import type { ModelRoute } from '#crds/types.gen.ts';
import { compareText } from '#web/compare-text.ts';
import { html } from '#web/html.ts';
import { AccessError } from '../access/access.ts';
import { channelHealth } from '../queries/channel-health.ts';
import { readReports } from '../queries/channel-reports.ts';
import { renderFindings, renderRoutes } from './channels-view.ts';
import { MAX_ID_LENGTH, formText, OWN_OBJECT, queryText } from '../request-schema.ts';
import { withParameters } from '../paths.ts';
import { route } from '../route.ts';
import type { ConsoleRoute, HandlerResult, PageRequest } from '../route.ts';
import { notice } from '../components/notice.ts';
import { pageHead } from '../components/page.ts';

const DONE: ReadonlyMap<string, (channel: string) => string> = new Map([
  [
    'drained',
    (channel: string) =>
      `The channel ${channel} gets no new calls from now on. Calls that are running there end normally.`,
  ],
  ['used', (channel: string) => `The channel ${channel} gets calls again.`],
]);

const ROUTES_QUERY = Type.Object({ done: queryText(), channel: queryText(MAX_ID_LENGTH) });
const DRAIN_FORM = Type.Object({
  channel: formText(),
  /** "yes": no new calls; otherwise the channel gets calls again. */
  drain: formText(),
  uid: formText(),
  generation: formText(),
});

type RouteRequest = PageRequest<{ readonly params: typeof OWN_OBJECT }>;
type DrainRequest = RouteRequest & PageRequest<{ readonly form: typeof DRAIN_FORM }>;

async function showRoutes(request: PageRequest<{ readonly query: typeof ROUTES_QUERY }>): Promise<HandlerResult> {
  const {
    person,
    csrf,
    query,
    deps: { doctor, gatewayNamespace },
  } = request;
  const [{ objects, allowed }, reports] = await Promise.all([person.list('ModelRoute'), readReports(request)]);
  if (!allowed) return { page: { title: 'Routes', active: 'routes', body: NOT_YOURS } };
  const routes = objects.toSorted((a, b) => compareText(a.metadata.name, b.metadata.name));
  const may = await Promise.all(
    routes.map(({ metadata: { namespace, name } }) => person.may('patch', 'ModelRoute', { namespace, name })),
  );
  const mayCreate = await person.may('create', 'ModelRoute', { namespace: gatewayNamespace });
  const changeable = new Set(routes.filter((_, at) => may[at]).map(({ metadata }) => metadata.name));
  const health = channelHealth(routes, reports);
  const done = hasChannel(routes, query.channel) ? DONE.get(query.done ?? '')?.(query.channel) : undefined;
  const body = renderRoutes({ routes, health, reports, csrf, changeable, mayCreate, done, doctor, gatewayNamespace });
  return { page: { title: 'Routes', active: 'routes', body, styles: ['catalog.css'] } };
}

/** An address can claim anything. */
function hasChannel(routes: readonly ModelRoute[], channel: string | undefined): channel is string {
  return routes.some(({ metadata, spec }) => spec.channels.some(({ name }) => `${metadata.name}/${name}` === channel));
}

const NOT_YOURS = html`${pageHead({ title: 'Routes' })}
${notice(
  html`Routes are the platform team's. Seeing them takes the right to <code>list</code>
    <code>modelroutes.modelgateway.dev</code> in the gateway's namespace. What you can call is under
    <a href="/models">Models</a>.`,
)}`;

/** Changes nothing if somebody else has changed the route since the page was opened. */
async function drain(request: DrainRequest): Promise<HandlerResult> {
  const {
    deps: { gatewayNamespace: namespace },
    form: { channel = '', drain, uid = '', generation },
    params: { name },
    person,
  } = request;
  const ref = { namespace, name };
  const modelRoute = await person.get('ModelRoute', ref);
  if (!modelRoute?.spec.channels.some(({ name }) => name === channel))
    throw new AccessError('NotFound', 'There is no such channel any more.');
  const drained = drain === 'yes';
  await person.change('ModelRoute', ref, {
    uid,
    generation: Number(generation),
    patch: { spec: { drainedChannels: drainedChannels(modelRoute, channel, drained) } },
  });
  const done = drained ? 'drained' : 'used';
  return { redirect: withParameters('/routes', { done, channel: `${ref.name}/${channel}` }) };
}

/** Requires the right to change the route, because a check may cost money. */
async function check({ deps, params: { name }, person }: RouteRequest): Promise<HandlerResult> {
  const ref = { namespace: deps.gatewayNamespace, name };
  if (!(await person.may('patch', 'ModelRoute', ref)))
    throw new AccessError('Forbidden', 'Checking channels takes the right to change the route.');
  if (!deps.doctor || !(await person.get('ModelRoute', ref)))
    throw new AccessError('NotFound', 'There is no such route, or its channels cannot be checked from here.');
  const body = renderFindings(ref.name, await deps.doctor.check(ref.name));
  return { page: { title: `Check of ${ref.name}`, active: 'routes', body, styles: ['catalog.css'] } };
}

/** null: removes the field. Names without a channel are removed as well. */
function drainedChannels({ spec }: ModelRoute, channel: string, drained: boolean): readonly string[] | null {
  const known = new Set(spec.channels.map(({ name }) => name));
  const others = (spec.drainedChannels ?? []).filter((name) => name !== channel && known.has(name));
  const names = drained ? [...others, channel] : others;
  return names.length === 0 ? null : names;
}

export const channelRoutes: readonly ConsoleRoute[] = [
  route({ method: 'GET', path: '/routes', query: ROUTES_QUERY, handle: showRoutes }),
  route({ method: 'POST', path: '/routes/:name/drain', params: OWN_OBJECT, form: DRAIN_FORM, handle: drain }),
  route({ method: 'POST', path: '/routes/:name/check', params: OWN_OBJECT, handle: check }),
];

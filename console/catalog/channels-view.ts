/** [P] Routes with their channels: their health, and the forms that drain them. */
import { conditionOf } from '../queries/conditions.ts';
import type { ModelRoute } from '#crds/types.gen.ts';
import { formatCount, pluralize, renderTime } from '#web/format.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import type { ChannelDoctor, ChannelFinding } from '../route.ts';
import { postForm } from '../components/form.ts';
import { rateText } from '../components/rate-limits.ts';
import { renderStatusDot } from '../components/status-mark.ts';
import { errorRate, failureText, latencyAt } from '../queries/channel-health.ts';
import type { ChannelHealth, ChannelSums, Reports } from '../queries/channel-health.ts';
import { editPath, withParameters } from '../paths.ts';
import { notice, doneNotice } from '../components/notice.ts';
import { pageHead, section } from '../components/page.ts';
import type { Column } from '../components/table.ts';
import { table } from '../components/table.ts';

export interface RoutesView {
  readonly routes: readonly ModelRoute[];
  readonly health: readonly ChannelHealth[];
  readonly reports: Reports;
  readonly csrf: string;
  /** Names of the routes that the person may change. */
  readonly changeable: ReadonlySet<string>;
  readonly mayCreate: boolean;
  /** The notice about what was just done. */
  readonly done: string | undefined;
  readonly doctor: ChannelDoctor | undefined;
  readonly gatewayNamespace: string;
}

export function renderRoutes(view: RoutesView): Html {
  const { routes, done } = view;
  return html`${pageHead({
    title: 'Routes',
    lede: 'The models, and the channels through which providers are reached.',
    ...(view.mayCreate && { actions: html`<a class="button" href="${editPath('route')}">New route</a>` }),
  })}
  ${doneNotice(done)} ${renderSource(view.reports)}
  ${
    routes.length === 0
      ? html`<p class="none">There is no ModelRoute yet.</p>`
      : routes.map((route) => renderRoute(route, view))
  }`;
}

/** Explains the figures, or why there are none. */
export function renderSource(reports: Reports): Html {
  if (reports === 'Unavailable')
    return notice(
      'The store of recent calls does not answer at the moment, so the state of the channels is unknown. Try again in a ' +
        'few seconds.',
      { tone: 'warn', role: 'status' },
    );
  if (reports === 'Missing')
    return notice(
      "The console has not been told where recent calls are kept, so it cannot show the state of channels. The proxies' " +
        'metrics have it.',
    );
  return html`<p class="soft">
    Figures are of the last five minutes, from ${pluralize(reports.length, 'proxy', 'proxies')} that had calls then and
    reported in the last 30 seconds. The gateway sends no calls of its own to try a channel: one without calls may be
    down without showing it. Latency is the time until an answer began.
  </p>`;
}

function renderRoute(route: ModelRoute, view: RoutesView): Html {
  const {
    metadata: { name },
    spec: { models, channels },
  } = route;
  const beside = html`<div class="actions">
    ${view.changeable.has(name) ? renderEdits(name) : NOTHING}
    <a class="button small" href="/routes/${encodeURIComponent(name)}/yaml">YAML<span class="vh"> of ${name}</span></a>
  </div>`;
  return section(
    { id: `route-${name}`, title: html`<bdi>${name}</bdi>`, beside },
    html`<p class="soft">
        ${pluralize(models.length, 'model')}, ${pluralize(channels.length, 'channel')} ${renderReady(route)}
      </p>
      ${table(
        channelColumns(route, view),
        view.health.filter((each) => each.route === name),
        { label: `Channels of ${name}`, caption: `Channels of ${name}`, cards: true },
      )}
      <details class="fold">
        <summary>Models of <bdi>${name}</bdi></summary>
        <ul class="tags">
          ${models.map((model) => html`<li>${renderModel(model.name, route, view)}</li>`)}
        </ul>
      </details>
      ${view.changeable.has(name) ? renderCheck(name, view) : NOTHING}`,
  );
}

function renderEdits(route: string): Html {
  const of = html`<span class="vh"> of ${route}</span>`;
  return html`<a class="button small" href="${editPath('channel', { object: route })}"
      >Add channel<span class="vh"> to ${route}</span></a
    >
    <a class="button small" href="${editPath('route', { object: route })}">Settings${of}</a>`;
}

function renderModel(model: string, { metadata: { name: object } }: ModelRoute, { changeable }: RoutesView): Html {
  return changeable.has(object)
    ? html`<a href="${editPath('model', { object, entry: model })}"><bdi>${model}</bdi></a>`
    : html`<bdi>${model}</bdi>`;
}

function channelColumns(route: ModelRoute, view: RoutesView): readonly Column<ChannelHealth>[] {
  const figure = (title: string, value: (sums: ChannelSums) => Html | string | undefined): Column<ChannelHealth> => ({
    title,
    num: true,
    style: 'nowrap',
    cell: ({ figures }) => (figures && value(figures)) ?? '—',
  });
  return [
    { title: 'Channel', cell: renderChannelName },
    { title: 'State', cell: ({ state }) => renderStatusDot(state) },
    {
      title: 'In flight',
      num: true,
      cell: ({ figures, channel: { maxConcurrency } }) =>
        `${figures ? formatCount(figures.inFlight) : '—'}${
          maxConcurrency === undefined ? '' : ` of ${formatCount(maxConcurrency)}`
        }`,
    },
    figure('Calls', renderAttempts),
    figure('Errors', errorRate),
    figure('Latency, median', (sums) => latencyAt(sums, 0.5)),
    figure('95 %', (sums) => latencyAt(sums, 0.95)),
    { title: 'Last failure', style: 'wrap', cell: renderLastFailure },
    {
      title: 'Actions',
      hidden: true,
      style: 'cell-actions',
      cell: (health) =>
        view.changeable.has(route.metadata.name)
          ? html`${renderEdit(health)} ${renderDrain(health, route, view)}`
          : NOTHING,
    },
  ];
}

/** The form that probes the channels, below what that costs; in a cluster the command that does. */
function renderCheck(route: string, { csrf, doctor, gatewayNamespace }: RoutesView): Html {
  const how = doctor
    ? html`<p class="lines">${doctor.costs(route)}</p>
        ${postForm(
          { action: `/routes/${encodeURIComponent(route)}/check`, csrf, style: '' },
          html`<button type="submit" class="button small">
            Check the channels<span class="vh"> of ${route}</span>
          </button>`,
        )}`
    : html`<p>
          Channels are checked from a proxy's pod, which has their credentials and may reach the providers. With a
          release named model-gateway:
        </p>
        <pre
          class="code"
        ><code>kubectl exec --namespace ${gatewayNamespace} deploy/model-gateway -- node bin/mgw.js doctor --only ${route} --yes</code></pre>`;
  return html`<details class="fold">
    <summary>Check the channels<span class="vh"> of ${route}</span>…</summary>
    ${how}
  </details>`;
}

/** The findings of a check of a route's channels. */
export function renderFindings(route: string, findings: readonly ChannelFinding[]): Html {
  const list = table<ChannelFinding>(
    [
      { title: 'Channel', cell: ({ channel }) => html`<bdi>${channel}</bdi>` },
      { title: 'Result', cell: renderResult },
      { title: 'Model', cell: ({ model }) => html`<bdi>${model}</bdi>` },
      { title: 'Asked for', cell: ({ asked }) => (asked === 'Count' ? 'a count of tokens' : 'one token') },
      { title: 'Details', style: 'wrap', cell: ({ message }) => message },
    ],
    findings,
    { label: 'Findings', caption: 'Findings', cards: true },
  );
  return html`${pageHead({
    title: html`Check of <bdi>${route}</bdi>`,
    lede: "Each channel was asked once, with the gateway's own credentials.",
    actions: html`<a class="button" href="/routes">Back to routes</a>`,
  })}
  ${findings.length === 0 ? html`<p class="none">None of its channels has a chat model, so none was asked.</p>` : list}`;
}

function renderResult({ problem }: ChannelFinding): Html {
  return renderStatusDot(
    problem === undefined
      ? { label: 'Serves', tone: 'good' }
      : { label: RESULTS[problem] ?? problem, tone: isTransient(problem) ? 'warn' : 'bad' },
  );
}

const RESULTS: Readonly<Record<string, string>> = { RateLimited: 'Rate limited' };

/** Whether a problem is temporary, so that the configuration may be right. */
function isTransient(problem: string): boolean {
  return problem === 'RateLimited' || problem === 'Unavailable';
}

function renderReady(route: ModelRoute): Html {
  const ready = conditionOf(route, 'Ready');
  if (!ready || ready.status === 'True') return NOTHING;
  return html`· <b>${ready.reason}</b> ${ready.message}`;
}

function renderChannelName({ route, channel }: ChannelHealth): Html {
  const { name, baseUrl, protocol, priority, rateLimits } = channel;
  const rates = rateText(rateLimits);
  return html`<a href="${withParameters('/usage/calls', { channel: `${route}/${name}` })}"><bdi>${name}</bdi></a
    ><small><bdi>${hostOf(baseUrl)}</bdi> · ${protocol} · priority ${priority}</small>${
      rates === '' ? NOTHING : html`<small>At most ${rates} per minute</small>`
    }`;
}

function renderAttempts({ attempts, skipped }: ChannelSums): Html {
  const passedOn = skipped > 0 ? html` <small>${formatCount(skipped)} passed on</small>` : NOTHING;
  return html`${formatCount(attempts)}${passedOn}`;
}

function renderLastFailure({ figures }: ChannelHealth): Html | string {
  const failure = figures?.lastFailure;
  return failure ? html`${failureText(failure.outcome)} <small>${renderTime(failure.atMs)}</small>` : '—';
}

function renderEdit({ route, channel: { name } }: ChannelHealth): Html {
  return html`<a class="button small" href="${editPath('channel', { object: route, entry: name })}"
    >Edit<span class="vh"> ${name} of ${route}</span></a
  >`;
}

function renderDrain(
  { channel: { name }, drained }: ChannelHealth,
  route: ModelRoute,
  { csrf, health }: RoutesView,
): Html {
  const others = health.filter(
    (each) => each.route === route.metadata.name && each.channel.name !== name && !each.drained,
  );
  const { name: routeName, uid = '', generation = 0 } = route.metadata;
  const of = html`<span class="vh"> ${name} of ${routeName}</span>`;
  const form = postForm(
    {
      action: `/routes/${encodeURIComponent(routeName)}/drain`,
      csrf,
      style: '',
      hidden: { channel: name, uid, generation },
    },
    html`<button type="submit" class="button small" name="drain" value="${drained ? 'no' : 'yes'}">
      ${drained ? 'Use again' : 'Drain'}${of}
    </button>`,
  );
  if (drained || others.length > 0) return form;
  return html`<details class="why">
    <summary>Drain${of}…</summary>
    <p>No other channel of this route takes calls: calls of models that no other route serves will be refused.</p>
    ${form}
  </details>`;
}

function hostOf(baseUrl: string): string {
  return URL.canParse(baseUrl) ? new URL(baseUrl).host : baseUrl;
}

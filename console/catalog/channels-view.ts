/** [P] Routes with their channels: their health, and the forms that drain them. */
import type { ModelRoute } from '#crds/types.gen.ts';
import { formatCount, pluralize, renderTime } from '#web/format.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import type { ChannelDoctor, ChannelFinding } from '../route.ts';
import { csrfField } from '../components/form.ts';
import { rateText } from '../components/rate-limits.ts';
import { renderStatusDot } from '../components/status-mark.ts';
import { errorRate, failureText, latencyAt } from '../queries/channel-health.ts';
import type { ChannelHealth, ChannelSums, Reports } from '../queries/channel-health.ts';

export interface RoutesView {
  readonly routes: readonly ModelRoute[];
  readonly health: readonly ChannelHealth[];
  readonly reports: Reports;
  readonly csrf: string;
  /** Names of the routes that the person may change. */
  readonly changeable: ReadonlySet<string>;
  /** The notice about what was just done. */
  readonly done: string | undefined;
  readonly doctor: ChannelDoctor | undefined;
  readonly gatewayNamespace: string;
}

export function renderRoutes(view: RoutesView): Html {
  const { routes, done } = view;
  return html`<div class="page-head">
      <div>
        <h1>Routes</h1>
        <p class="lede">The models, and the channels through which providers are reached.</p>
      </div>
    </div>
    ${done === undefined ? NOTHING : html`<div class="notice good" role="status"><p>${done}</p></div>`}
    ${renderSource(view.reports)}
    ${
      routes.length === 0
        ? html`<p class="none">There is no ModelRoute yet.</p>`
        : routes.map((route) => renderRoute(route, view))
    }`;
}

/** Explains the figures, or why there are none. */
export function renderSource(reports: Reports): Html {
  if (reports === 'Unavailable')
    return html`<div class="notice warn" role="status">
      <p>
        The store of recent calls does not answer at the moment, so the state of the channels is unknown. Try again in a
        few seconds.
      </p>
    </div>`;
  if (reports === 'Missing')
    return html`<div class="notice">
      <p>
        The console has not been told where recent calls are kept, so it cannot show the state of channels. The proxies'
        metrics have it.
      </p>
    </div>`;
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
  const own = view.health.filter((each) => each.route === name);
  return html`<section class="section" aria-labelledby="route-${name}">
    <div class="section-head">
      <h2 id="route-${name}"><bdi>${name}</bdi></h2>
      <div class="actions">
        <a class="button small" href="/routes/${encodeURIComponent(name)}/yaml"
          >YAML<span class="vh"> of ${name}</span></a
        >
      </div>
    </div>
    <p class="soft">
      ${pluralize(models.length, 'model')}, ${pluralize(channels.length, 'channel')} ${renderReady(route)}
    </p>
    <div class="table-box" tabindex="0" role="region" aria-label="Channels of ${name}">
      <table class="table cards">
        <caption class="vh">
          Channels of ${name}
        </caption>
        <thead>
          <tr>
            <th scope="col">Channel</th>
            <th scope="col">State</th>
            <th scope="col" class="num">In flight</th>
            <th scope="col" class="num">Calls</th>
            <th scope="col" class="num">Errors</th>
            <th scope="col" class="num">Latency, median</th>
            <th scope="col" class="num">95 %</th>
            <th scope="col">Last failure</th>
            <th scope="col"><span class="vh">Actions</span></th>
          </tr>
        </thead>
        <tbody>
          ${own.map((each) => renderChannel(each, route, view))}
        </tbody>
      </table>
    </div>
    <details class="fold">
      <summary>Models of <bdi>${name}</bdi></summary>
      <ul class="tags">
        ${models.map((model) => html`<li><bdi>${model.name}</bdi></li>`)}
      </ul>
    </details>
    ${view.changeable.has(name) ? renderCheck(name, view) : NOTHING}
  </section>`;
}

/** The form that probes the channels, below what that costs; in a cluster the command that does. */
function renderCheck(route: string, { csrf, doctor, gatewayNamespace }: RoutesView): Html {
  const how = doctor
    ? html`<p>${doctor.costs(route)}</p>
        <form method="post" action="/routes/${encodeURIComponent(route)}/check">
          ${csrfField(csrf)}
          <button type="submit" class="button small">Check the channels<span class="vh"> of ${route}</span></button>
        </form>`
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
  return html`<div class="page-head">
      <div>
        <h1>Check of <bdi>${route}</bdi></h1>
        <p class="lede">Each channel was asked once, with the gateway's own credentials.</p>
      </div>
      <div class="actions">
        <a class="button" href="/routes">Back to routes</a>
      </div>
    </div>
    ${
      findings.length === 0
        ? html`<p class="none">None of its channels has a chat model, so none was asked.</p>`
        : html`<div class="table-box" tabindex="0" role="region" aria-label="Findings">
            <table class="table cards">
              <caption class="vh">
                Findings
              </caption>
              <thead>
                <tr>
                  <th scope="col">Channel</th>
                  <th scope="col">Result</th>
                  <th scope="col">Model</th>
                  <th scope="col">Asked for</th>
                  <th scope="col">Details</th>
                </tr>
              </thead>
              <tbody>
                ${findings.map(renderFinding)}
              </tbody>
            </table>
          </div>`
    }`;
}

function renderFinding({ channel, model, asked, problem, message }: ChannelFinding): Html {
  return html`<tr>
    <th scope="row" class="main"><bdi>${channel}</bdi></th>
    <td data-label="Result">
      ${renderStatusDot(
        problem === undefined
          ? { label: 'Serves', tone: 'good' }
          : { label: RESULTS[problem] ?? problem, tone: isTransient(problem) ? 'warn' : 'bad' },
      )}
    </td>
    <td data-label="Model"><bdi>${model}</bdi></td>
    <td data-label="Asked for">${asked === 'Count' ? 'a count of tokens' : 'one token'}</td>
    <td class="wrap" data-label="Details">${message}</td>
  </tr>`;
}

const RESULTS: Readonly<Record<string, string>> = { RateLimited: 'Rate limited' };

/** Whether a problem is temporary, so that the configuration may be right. */
function isTransient(problem: string): boolean {
  return problem === 'RateLimited' || problem === 'Unavailable';
}

function renderReady({ status }: ModelRoute): Html {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  if (!ready || ready.status === 'True') return NOTHING;
  return html`· <b>${ready.reason}</b> ${ready.message}`;
}

function renderChannel(health: ChannelHealth, route: ModelRoute, view: RoutesView): Html {
  const {
    channel: { name, protocol, baseUrl, priority, maxConcurrency, rateLimits },
    state,
    figures,
  } = health;
  const rates = rateText(rateLimits);
  return html`<tr>
    <th scope="row" class="main">
      <bdi>${name}</bdi
      ><small><bdi>${hostOf(baseUrl)}</bdi> · ${protocol} · priority ${priority}</small
      >${rates === '' ? NOTHING : html`<small>At most ${rates} per minute</small>`}
    </th>
    <td data-label="State">${renderStatusDot(state)}</td>
    <td class="num" data-label="In flight">
      ${figures ? formatCount(figures.inFlight) : '—'}${
        maxConcurrency === undefined ? NOTHING : ` of ${formatCount(maxConcurrency)}`
      }
    </td>
    ${renderFigures(figures)}
    <td data-label="Actions">
      ${view.changeable.has(route.metadata.name) ? renderDrain(health, route, view) : NOTHING}
    </td>
  </tr>`;
}

const LABELS = ['Calls', 'Errors', 'Latency, median', '95 %', 'Last failure'] as const;

function renderFigures(figures: ChannelSums | undefined): Html {
  const cells = figures ? figuresOf(figures) : LABELS.map(() => undefined);
  return html`${LABELS.map(
    (label, at) =>
      html`<td class="${label === 'Last failure' ? 'wrap' : 'num nowrap'}" data-label="${label}">
        ${cells[at] ?? '—'}
      </td>`,
  )}`;
}

function figuresOf(figures: ChannelSums): readonly (Html | string | undefined)[] {
  const { attempts, skipped, lastFailure: failure } = figures;
  const passedOn = skipped > 0 ? html` <small>${formatCount(skipped)} passed on</small>` : NOTHING;
  return [
    html`${formatCount(attempts)}${passedOn}`,
    errorRate(figures),
    latencyAt(figures, 0.5),
    latencyAt(figures, 0.95),
    failure && html`${failureText(failure.outcome)} <small>${renderTime(failure.atMs)}</small>`,
  ];
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
  const form = html`<form method="post" action="/routes/${encodeURIComponent(routeName)}/drain">
    ${csrfField(csrf)}
    <input type="hidden" name="channel" value="${name}" />
    <input type="hidden" name="uid" value="${uid}" />
    <input type="hidden" name="generation" value="${generation}" />
    <button type="submit" class="button small" name="drain" value="${drained ? 'no' : 'yes'}">
      ${drained ? 'Use again' : 'Drain'}<span class="vh"> ${name} of ${routeName}</span>
    </button>
  </form>`;
  if (drained || others.length > 0) return form;
  return html`<details class="why">
    <summary>Drain<span class="vh"> ${name} of ${routeName}</span>…</summary>
    <p>No other channel of this route takes calls: calls of models that no other route serves will be refused.</p>
    ${form}
  </details>`;
}

function hostOf(baseUrl: string): string {
  return URL.canParse(baseUrl) ? new URL(baseUrl).host : baseUrl;
}

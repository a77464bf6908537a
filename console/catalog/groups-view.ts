/** [P] Groups: what each costs and offers, and in which order an automatic one tries its members. */
import { editPath, modelPath } from '../paths.ts';
import { formatDecimal } from '#snapshot/decimal.ts';
import { compareNames } from '#web/compare-text.ts';
import { pluralize } from '#web/format.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { offerDollars } from '#web/pricing/dollars.ts';
import type { OfferingGroup, PricedOffer, PriceList, PricingGroup } from '#web/pricing/price-list.ts';
import { priceText, triedGroups } from './price-text.ts';
import { pageHead, section } from '../components/page.ts';
import type { Column } from '../components/table.ts';
import { table } from '../components/table.ts';

const E18 = 10n ** 9n;

export interface GroupsView {
  /** Of the groups that the person may see. */
  readonly list: PriceList;
  /** Names of the groups whose objects the person may read. */
  readonly readable: ReadonlySet<string>;
  readonly seesRoutes: boolean;
  readonly mayCreate: boolean;
  readonly mayChange: boolean;
}

export function renderGroups({ list, readable, seesRoutes, mayCreate, mayChange }: GroupsView): Html {
  const { groups } = list.pricing;
  return html`${pageHead({
    title: 'Groups',
    lede: 'A key belongs to one group, which decides what it can call and at what price.',
    ...((seesRoutes || mayCreate) && {
      actions: html`${seesRoutes ? html`<a class="button" href="/routes">Routes and channels</a>` : NOTHING}
      ${mayCreate ? html`<a class="button" href="${editPath('group')}">New group</a>` : NOTHING}`,
    }),
  })}
  ${
    groups.length === 0
      ? html`<p class="none">There is no group that you could use yet.</p>`
      : groups.map((group) =>
          renderGroup(group, list, {
            readable: readable.has(group.name),
            changeable: mayChange && readable.has(group.name),
          }),
        )
  }`;
}

interface Rights {
  readonly readable: boolean;
  readonly changeable: boolean;
}

function renderGroup(group: PricingGroup, list: PriceList, { readable, changeable }: Rights): Html {
  const { name, displayName } = group;
  const offering = list.groups.get(name);
  const { size = 0 } = offering?.offers ?? {};
  const link = (label: string, word: string, href: string): Html =>
    html`<a class="button small" href="${href}">${label}<span class="vh"> ${word} ${displayName}</span></a>`;
  const beside = html`<div class="actions">
    ${link('Prices', 'in', `/models?group=${encodeURIComponent(name)}`)}
    ${changeable ? link('Edit', '', editPath('group', { object: name })) : NOTHING}
    ${readable ? link('YAML', 'of', `/groups/${encodeURIComponent(name)}/yaml`) : NOTHING}
  </div>`;
  return section(
    { id: `group-${name}`, title: html`<bdi>${displayName}</bdi>`, beside },
    html`<p class="soft">${factsOf(group, size)}</p>
      ${renderMembers(group)}${offering && size > 0 ? renderModels(group, offering, list) : NOTHING}`,
  );
}

/** "Direct · 3 models · for all namespaces · ratio 0.8" */
function factsOf({ name, displayName, members, restricted, priceRatioE9 }: PricingGroup, models: number): string {
  return [
    members ? 'Automatic' : 'Direct',
    pluralize(models, 'model'),
    restricted ? 'for namespaces that it admits' : 'for all namespaces',
    ...(members ? [] : [`ratio ${formatDecimal(priceRatioE9)}`]),
    ...(displayName === name ? [] : [name]),
  ].join(' · ');
}

function renderMembers({ members }: PricingGroup): Html {
  if (!members) return NOTHING;
  if (members.length === 0) return html`<p>It has no member yet, so it offers nothing.</p>`;
  return html`<p>Each call goes to the first of these that has the model and a free slot:</p>
    <ol class="group-members">
      ${members.map(
        ({ displayName, priceRatioE18 }) =>
          html`<li>
            <bdi>${displayName}</bdi> <span class="soft">ratio ${formatDecimal(priceRatioE18 / E18)}</span>
          </li>`,
      )}
    </ol>`;
}

type Offer = readonly [model: string, offer: PricedOffer];

function renderModels({ name, displayName, members }: PricingGroup, { offers }: OfferingGroup, list: PriceList): Html {
  const rows = new Map(list.pricing.rows.map((row) => [row.modelName, row]));
  const names = new Map(members?.map((member) => [member.name, member.displayName]));
  const tried: Column<Offer> = {
    title: 'Tries, in order',
    cell: ([, offer]) =>
      triedGroups(offer)
        .map((each) => names.get(each) ?? each)
        .join(', then '),
  };
  return html`<details class="fold">
    <summary>Models of <bdi>${displayName}</bdi></summary>
    ${table<Offer>(
      [
        {
          title: 'Model',
          cell: ([model]) =>
            rows.has(model) ? html`<a href="${modelPath(model)}"><bdi>${model}</bdi></a>` : html`<bdi>${model}</bdi>`,
        },
        { title: 'Price', cell: ([model, offer]) => priceText(offerDollars(offer), rows.get(model)) },
        ...(members ? [tried] : []),
      ],
      [...offers].sort(([a], [b]) => compareNames(a, b)),
      { label: `Models of ${displayName}` },
    )}
    <p class="hint" id="prices-${name}">Tokens: dollars per million.</p>
  </details>`;
}

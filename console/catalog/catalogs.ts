/** The price catalogs of the gateway, for people who may read them. */
import type { PriceCatalog } from '#crds/types.gen.ts';
import { compareText } from '#web/compare-text.ts';
import { formatCount } from '#web/format.ts';
import { html } from '#web/html.ts';
import type { ConsoleRoute, HandlerResult, PageRequest } from '../route.ts';
import { notice } from '../components/notice.ts';
import { pageHead } from '../components/page.ts';
import { table } from '../components/table.ts';
import { editPath, withParameters } from '../paths.ts';
import { CHANGE_PATH } from './price-change.ts';

const PATH = '/catalogs';

async function showCatalogs({ person, deps }: PageRequest): Promise<HandlerResult> {
  const { objects, allowed } = await person.list('PriceCatalog');
  const catalogs = objects
    .filter(({ metadata }) => metadata.namespace === deps.gatewayNamespace)
    .toSorted((a, b) => compareText(a.metadata.name, b.metadata.name));
  const list =
    catalogs.length === 0
      ? html`<p class="none">There is no PriceCatalog yet.</p>`
      : table<PriceCatalog>(
          [
            { title: 'Catalog', cell: ({ metadata: { name } }) => html`<bdi>${name}</bdi>` },
            { title: 'Models', num: true, cell: ({ spec }) => formatCount(spec.models.length) },
            {
              title: 'Actions',
              hidden: true,
              style: 'cell-actions',
              cell: ({ metadata: { name } }) =>
                html`<a class="button small" href="${editPath('price', { object: name })}"
                    >Add a price<span class="vh"> to ${name}</span></a
                  >
                  <a class="button small" href="${editPath('catalog', { object: name })}"
                    >Settings<span class="vh"> of ${name}</span></a
                  >
                  <a class="button small" href="${withParameters(CHANGE_PATH, { catalog: name })}"
                    >Preview a change<span class="vh"> of ${name}</span></a
                  >
                  <a class="button small" href="${PATH}/${encodeURIComponent(name)}/yaml"
                    >YAML<span class="vh"> of ${name}</span></a
                  >`,
            },
          ],
          catalogs,
          { label: 'Price catalogs', caption: 'Price catalogs', cards: true },
        );
  const body = html`${pageHead({ title: 'Price catalogs', lede: 'Where the prices of models are written.' })}
  ${allowed ? list : NOT_YOURS}`;
  return { page: { title: 'Price catalogs', active: 'catalogs', body, styles: ['catalog.css'] } };
}

const NOT_YOURS = notice(
  html`Price catalogs are the platform team's. Seeing them takes the right to <code>list</code>
    <code>pricecatalogs.modelgateway.dev</code> in the gateway's namespace. What models cost is under
    <a href="/models">Models</a>.`,
);

export const catalogsRoutes: readonly ConsoleRoute[] = [{ method: 'GET', path: PATH, handle: showCatalogs }];

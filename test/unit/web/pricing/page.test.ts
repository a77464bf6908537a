import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, test } from 'vitest';
import { flag, html, preformatted } from '#web/html.ts';
import { renderPricingPage } from '#web/pricing/page.ts';
import { countText } from '#web/pricing/prices.ts';
import { parsePricingQuery } from '#web/pricing/query.ts';
import type { State } from '../../../../dataplane/state/state.ts';
import { REALISTIC, sampleState } from '../../dataplane/server/pricing/sample.ts';
import type { Sample } from '../../dataplane/server/pricing/sample.ts';
import { pageMarkup } from '../../../support/page-markup.ts';
import { pattern } from '../../../support/pattern.ts';

const SITE = {
  title: 'Model Gateway',
  styleHref: 's.css',
  scriptHref: 's.js',
  iconHref: 'i.svg',
  consoleUrl: undefined,
};

function renderExact(state: State, search = ''): string {
  return renderPricingPage(state, SITE, parsePricingQuery(new URLSearchParams(search), state.pricing));
}

function render(state: State, search = ''): string {
  return pageMarkup(renderExact(state, search));
}

/** Tags with their attributes' names; neither text nor values. */
function skeleton(markup: string): string[] {
  return [...markup.matchAll(/<[^>]*>/g)].map(([tag]) => tag.replace(/"[^"]*"/g, '""'));
}

function textOf(markup: string): string {
  return markup
    .replace(/<[^>]*>/g, '')
    .replace(
      /&(lt|gt|quot|#39|amp);/g,
      (_, name: string) => ({ lt: '<', gt: '>', quot: '"', '#39': "'", amp: '&' })[name] ?? '',
    );
}

function headings(markup: string): string[] {
  return [...markup.matchAll(/<th role="columnheader"[^>]*><button[^>]*>(.*?)<\/button>/g)].map(
    ([, title = '']) => title,
  );
}

function cellsOf(markup: string, model: string): string[] {
  const row = markup.split('<tr').find((part) => part.includes(`<bdi>${model}</bdi></a>`));
  assert.ok(row, model);
  return [...row.matchAll(/<t[hd][^>]*>(.*?)<\/t[hd]>/g)].map(([, cell = '']) =>
    textOf(cell.replaceAll('</li>', ' ')).trim(),
  );
}

describe('price page', () => {
  const state = sampleState(REALISTIC);

  test('has exactly the seven columns', () => {
    assert.deepEqual(headings(render(state)), [
      'Model Name',
      'Vendor / Owner',
      'Quota Type',
      'Model Ratio',
      'Completion Ratio',
      'Cache Ratio',
      'Enabled Groups',
    ]);
  });

  test('shows a model with its ratios and what they mean in dollars', () => {
    assert.deepEqual(cellsOf(render(state), 'claude-sonnet-4-5'), [
      'claude-sonnet-4-5text→ to text200K context64K output',
      'Anthropic',
      'Token-based',
      '1.5$3.00 input',
      '5$15.00 output',
      '0.1$0.30 cached; show cache writes5 min write 1.25$3.751 h write 2$6.00',
      'Auto-A Smart VIP',
    ]);
  });

  test('shows a price per request, and what does not apply as a dash', () => {
    assert.deepEqual(cellsOf(render(state), 'flux-1.1-pro'), [
      'flux-1.1-protext→ to image',
      'Black Forest Labs',
      'Per-request',
      '—$0.04 per request',
      '—',
      '—',
      'Auto-A Smart VIP',
    ]);
  });

  test('shows a model that no group offers', () => assert.equal(cellsOf(render(state), 'sora-2').at(-1), 'None yet'));

  test("shows a group's prices, and only its models", () => {
    const page = render(state, '?group=vip');
    assert.equal(cellsOf(page, 'claude-sonnet-4-5')[3], '1.5$4.50 input');
    assert.match(page, /<option value="vip" selected>VIP · × 1\.5<\/option>/);
    assert.match(textOf(page), /USD per million tokens in VIP, group ratio 1\.5/);
    assert.match(textOf(page), /8 of 26 models/);
    assert.match(
      page,
      pattern(
        /<tr role="row" hidden[^>]*><th role="rowheader" scope="row"><a class="model-name" /,
        /href="pricing\/models\/gpt-4\.1"><bdi>gpt-4\.1</,
      ),
    );
    assert.match(textOf(render(state, '?group=smart')), /at the ratio of the member that serves the call/);
  });

  test('shows no cache ratio that the catalog does not state, and the default prices of cache writes', () => {
    const writes = '; show cache writes5 min write 1.25$2.501 h write 2$4.00';
    const none = sampleState({ tokens: [['m', 'v', '1', '4']], groups: [{ name: 'g' }] });
    assert.equal(cellsOf(render(none), 'm')[5], `—— cached${writes}`);
    const read = sampleState({ tokens: [['m', 'v', '1', '4', '0.5']], groups: [{ name: 'g' }] });
    assert.equal(cellsOf(render(read), 'm')[5], `0.5$1.00 cached${writes}`);
  });

  test('shows models of one use only, each marked with its uses', () => {
    const page = render(state, '?use=images');
    assert.match(textOf(page), /3 of 26 models/);
    assert.match(page, /<option value="images" selected>Makes images<\/option>/);
    assert.match(page, /<tr role="row"[^>]* data-u="images"[^>]*>.*flux-1\.1-pro</);
    assert.match(page, /<tr role="row" hidden[^>]* data-u="chat"[^>]*>.*gpt-4\.1</);
  });

  test('shows models of a context only, each marked with its own', () => {
    const page = render(state, '?context=200000');
    assert.match(textOf(page), /22 of 26 models/);
    assert.match(page, /<option value="200000" selected>200K or more<\/option>/);
    assert.match(page, /<tr role="row"(?! hidden)[^>]* data-c="200000"[^>]*>.*gpt-4\.1</);
    assert.match(page, /<tr role="row" hidden[^>]* data-c="0"[^>]*>.*flux-1\.1-pro</);
    assert.match(textOf(render(state, '?context=1000000')), /0 of 26 models/);
    assert.match(render(state, '?context=7'), />26 models</);
  });

  test('tells groups of one display name apart', () => {
    const twins = sampleState({
      tokens: [['m', 'v', '1', '1', '1']],
      groups: [
        { name: 'a', displayName: 'Same' },
        { name: 'b', displayName: 'Same' },
      ],
    });
    assert.match(render(twins), />Same \(a\) · × 1</);
  });

  test('marks the sorted column, and its button turns the order round', () => {
    assert.match(
      render(state),
      /<th role="columnheader" scope="col" aria-sort="ascending"><button [^>]*value="-vendor"/,
    );
    const page = render(state, '?sort=-model_ratio');
    assert.match(page, /scope="col" aria-sort="descending"><button [^>]*value="model_ratio"/);
    assert.equal(page.match(/aria-sort=/g)?.length, 1);
  });

  test('works an example out with figures of this list', () => {
    const example = sampleState({ tokens: [['claude-sonnet-4-5', 'Anthropic', '1.5', '5', '0.1']] });
    assert.match(
      textOf(render(example)),
      /\( 2,000 \+ 10,000 × 0\.1 \+ 800 × 5 \) × 1\.5 × \$2 ÷ 1,000,000 × 1 = \$0\.021/,
    );
    const perRequest = sampleState({ requests: [['flux', 'BFL', '0.04']] });
    assert.doesNotMatch(render(perRequest), /For example/);
  });

  test('says what to do while nothing is priced', () => {
    const page = render(sampleState({}));
    assert.match(page, /No models are priced yet/);
    assert.match(page, /kind: PriceCatalog/);
    assert.doesNotMatch(page, /<table|<form/);
  });

  test('says so where nothing matches, and offers the way back', () => {
    assert.match(render(state, '?q=nothing-like-this'), /<p id="none">No model matches these filters\. <a href="\?"/);
    assert.match(render(state), /<p id="none" hidden>/);
  });

  test('folds many groups away', () => {
    const names = Array.from({ length: 30 }, (_, index) => `group-${index}`);
    const page = render(sampleState({ tokens: [['m', 'v', '1', '1', '1']], groups: names.map((name) => ({ name })) }));
    assert.match(page, /<summary>26 more</);
    for (const name of names) assert.match(page, new RegExp(`<bdi>${name}</bdi>`));
  });

  test('counts models', () => {
    assert.equal(countText(1, 1), '1 model');
    assert.equal(countText(1234, 1234), '1,234 models');
    assert.equal(countText(0, 2), '0 of 2 models');
  });

  test('has nothing inline: no script, style or handler', () => {
    const page = render(state);
    assert.doesNotMatch(page, /<style|style=|<script(?! src="s\.js" defer><\/script>)|\son[a-z]+=|javascript:/);
  });
});

const HOSTILE = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "' onfocus=alert(1) x='",
  '</td></tr></table><h1>',
  '&lt;b&gt;',
  '&amp;',
  '{{7*7}}${7*7}`',
  '<!--',
  ']]>',
  '\u202Egnp.exe\u202C',
  'مرحبا بالعالم',
  'a\u0000b\u001F',
  'x'.repeat(200),
  '\uD800',
  ' ',
  '🦊'.repeat(50),
  '__proto__',
  'constructor',
];

function hostileSample(model: string, vendor: string, group: string): Sample {
  return {
    tokens: [[model, vendor, '1.5', '5', '0.1']],
    requests: [[`${model}-image`, vendor, '0.04']],
    groups: [{ name: 'g', displayName: group }],
  };
}

describe('names from manifests', () => {
  const name = fc.oneof(fc.constantFrom(...HOSTILE), fc.string({ unit: 'binary', minLength: 1, maxLength: 200 }));
  const harmless = skeleton(renderExact(sampleState(hostileSample('model', 'vendor', 'group'))));

  test('are only ever text: they add no tag and no attribute', () => {
    fc.assert(
      fc.property(name, name, name, (model, vendor, group) => {
        const page = renderExact(sampleState(hostileSample(model, vendor, group)));
        assert.deepEqual(skeleton(page), harmless);
        assert.doesNotMatch(page, /[\p{Cs}\u202A-\u202E\u2066-\u2069]/u);
      }),
      { numRuns: 200 },
    );
  });

  test('are shown as they are, but for what HTML cannot hold', () => {
    const visible = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 200 });
    fc.assert(
      fc.property(visible, (model) => {
        const page = renderExact(sampleState(hostileSample(model, 'v', 'g')));
        assert.ok(textOf(page).includes(model));
      }),
      { numRuns: 100 },
    );
  });

  test('the searched text and the title are only text too', () => {
    const state = sampleState(REALISTIC);
    const expected = skeleton(renderExact(state, '?q=zzz'));
    for (const text of HOSTILE) {
      const page = renderPricingPage(
        state,
        { ...SITE, title: text },
        parsePricingQuery(new URLSearchParams({ q: `zzz${text}` }), state.pricing),
      );
      assert.deepEqual(skeleton(page), expected);
    }
  });
});

describe('html', () => {
  test('escapes text, keeps markup, joins lists', () => {
    const inner = html`<b title="${'"'}">${"<&>'"}</b>`;
    assert.equal(html`<p>${[inner, 1, 'x']}</p>`.markup, '<p><b title="&quot;">&lt;&amp;&gt;&#39;</b>1x</p>');
  });

  test("has one space for a template's line break, and every space of a value", () => {
    // prettier-ignore
    const link = (text: string): string => html`<p>
      See <a
        href="#"
        >${text}</a
      >,
      ${'and  so'} on.
      <br
      />
    </p>`.markup;
    for (const text of ['a  b', 'c'])
      assert.equal(link(text), `<p> See <a href="#">${text}</a>, and  so on. <br/> </p>`);
  });

  test('keeps what a page shows as it is written', () => {
    // prettier-ignore
    const markup = html`<div>
      <pre class="code">
a:
  ${'b'}
</pre>
      <textarea>
${preformatted('a\n  <b>')}</textarea
      >
    </div>`.markup;
    assert.equal(
      markup,
      '<div> <pre class="code">\na:\n  b\n</pre> <textarea>\na\n  &lt;b&gt;</textarea\n      > </div>',
    );
  });

  test('has an attribute without a value, or none', () => {
    assert.equal(html`<p ${flag('hidden', true)}></p>`.markup, '<p hidden></p>');
    assert.equal(html`<p ${flag('hidden', false)}></p>`.markup, '<p ></p>');
  });
});

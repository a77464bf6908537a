/** The pieces that pages are built from: what each writes, and what it never leaves out. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, it } from 'vitest';
import { html, NOTHING } from '#web/html.ts';
import { facts, figures } from '../../../../console/components/facts.ts';
import { selectFilter } from '../../../../console/components/filters.ts';
import { fieldMessage } from '../../../../console/components/field.ts';
import { choiceForm, postForm } from '../../../../console/components/form.ts';
import { notice } from '../../../../console/components/notice.ts';
import { olderPager, pager } from '../../../../console/components/pager.ts';
import { pageHead } from '../../../../console/components/page.ts';
import { table } from '../../../../console/components/table.ts';
import type { Column } from '../../../../console/components/table.ts';

interface Row {
  readonly name: string;
  readonly calls: number;
}

const COLUMNS: readonly Column<Row>[] = [
  { title: 'Name', cell: ({ name }) => name, foot: 'All' },
  { title: 'Calls', num: true, cell: ({ calls }) => String(calls), foot: '3' },
  { title: 'Actions', hidden: true, cell: () => html`<a href="/x">Go</a>` },
];
const ROWS: readonly Row[] = [
  { name: 'a', calls: 1 },
  { name: '<b>', calls: 2 },
];

describe('a table', () => {
  const { markup } = table(COLUMNS, ROWS, { label: 'Names', cards: true });

  it('names its cells like their column, and no cell of a column without a visible heading', () => {
    assert.match(markup, /<th scope="col" class="num" >Calls<\/th>/);
    assert.match(markup, /<td class="num" data-label="Calls"[^>]*>1<\/td>/);
    assert.match(markup, /<span class="vh">Actions<\/span>/);
    assert.doesNotMatch(markup, /data-label="Actions"/);
  });
  it('has the first column as the rows’ headings, and text as text', () => {
    assert.match(markup, /<th scope="row" class="main">&lt;b&gt;<\/th>/);
  });
  it('can be scrolled by keyboard where it is named', () => {
    assert.match(markup, /<div class="table-box" tabindex="0" role="region" aria-label="Names">/);
    assert.doesNotMatch(table(COLUMNS, ROWS).markup, /tabindex|data-label/);
  });
  it('ends with its sums', () => {
    assert.match(markup, /<tfoot>.*All.*data-label="Calls"[^>]*>3</);
    const [name, calls] = COLUMNS;
    assert.ok(name && calls);
    const { foot: _name, ...plainName } = name;
    const { foot: _calls, ...plainCalls } = calls;
    assert.doesNotMatch(table([plainName, plainCalls], ROWS).markup, /tfoot/);
  });
  it('has one cell in place of those that it spans', () => {
    const wide: Column<Row> = { title: 'Made', cell: () => ({ content: '2 images', span: 2, label: 'Images' }) };
    const { markup: spanned } = table([COLUMNS[0] ?? wide, wide, ...COLUMNS.slice(1, 2)], ROWS, { cards: true });
    assert.match(spanned, /<td *data-label="Images" colspan="2" *>2 images<\/td>/);
    assert.equal(spanned.split('<td').length - 1, ROWS.length + 2, 'one cell in each row, and two in the foot');
  });
  it('says by which column it is sorted', () => {
    const sorted: Column<Row> = { title: 'Name', cell: ({ name }) => name, sort: { href: '/x', order: 'descending' } };
    assert.match(table([sorted], ROWS).markup, /aria-sort="descending"><a href="\/x">Name<\/a>/);
  });
});

describe('a form', () => {
  it('has no token where nobody is signed in, and leads to a page where it only chooses', () => {
    assert.doesNotMatch(postForm({ action: '/sign-in', csrf: undefined }, NOTHING).markup, /csrf/);
    const { markup } = choiceForm({ action: '/x', button: 'Go' }, html`<select name="a"></select>`);
    assert.match(markup, /^<form class="toolbar" *method="get" action="\/x">/);
    assert.doesNotMatch(markup, /csrf/);
  });
  it('has the session’s token, whatever else it has', () => {
    const { markup } = postForm({ action: '/x', csrf: 'token', hidden: { uid: 'u' } }, html`<button>Go</button>`);
    assert.match(markup, /method="post" action="\/x"/);
    assert.match(markup, /name="csrf" value="token"/);
    assert.match(markup, /name="uid" value="u"/);
  });
});

describe('the pages', () => {
  const CONSOLE = new URL('../../../../console/', import.meta.url);
  const OWN_FILES = /^components[\\/](?:table|notice|form|filters)\.ts$/;
  const WRITTEN_OUT = /<(?:form|table)\b|class(?:Name)?(?:="|: ')[^"']*\bnotice\b/;

  it('write no table, notice or form out, but build them from these pieces', () => {
    const files = readdirSync(CONSOLE, { recursive: true, encoding: 'utf8' }).filter((file) => /\.[jt]s$/.test(file));
    assert.ok(files.some((file) => OWN_FILES.test(file)));
    const found = files.filter((file) => WRITTEN_OUT.test(readFileSync(new URL(file, CONSOLE), 'utf8')));
    assert.deepEqual(
      found.filter((file) => !OWN_FILES.test(file)),
      [],
    );
    assert.equal(found.length, 3, 'the pieces themselves: notices have their class from a list');
  });
});

describe('a choice of a filter', () => {
  const select = (chosen: string) =>
    selectFilter({ label: 'Group', name: 'group', all: 'All', options: [['a', 'Group A']], chosen }).markup;

  it('selects what is chosen, also if the list does not offer it any more', () => {
    assert.match(select('a'), /<option value="a" selected>Group A<\/option>/);
    assert.match(select('gone<'), /<option value="gone&lt;" selected>gone&lt;<\/option> *<\/select>/);
  });
  it('lets all through if nothing is chosen', () => {
    assert.doesNotMatch(select(''), /selected/);
    assert.match(select(''), /<option value="">All<\/option> *<option value="a" *>Group A<\/option> *<\/select>/);
  });
});

describe('an error of the API at its field', () => {
  it('names the field by its label, and not by its name in manifests', () => {
    const at = (path: string, message: string) => fieldMessage({ path, message });
    assert.equal(at('spec.quota.limitUsd', 'limitUsd must be a decimal'), 'It must be a decimal');
    assert.equal(at('spec.grants[0].usd', 'Invalid value: "a: b": usd must be a decimal'), 'It must be a decimal');
    assert.equal(at('spec.models[2]', 'models must differ'), 'It must differ');
    assert.equal(at('spec.quota.limitUsd', 'limitUsdX is unknown'), 'limitUsdX is unknown');
    assert.equal(at('', 'The account is closed'), 'The account is closed');
  });
});

describe('small pieces', () => {
  it('a notice has a paragraph for each text', () => {
    const { markup } = notice(['one', html`<b>two</b>`], { tone: 'bad', role: 'status' });
    assert.match(markup, /class="notice bad"/);
    assert.match(markup, /<p>one<\/p><p><b>two<\/b><\/p>/);
    const alert = notice('no', { role: 'alert', title: 'Why', style: 'x', below: html`<table></table>` }).markup;
    assert.match(alert, /class="notice x"[^>]*role="alert"[^>]*> *<h2>Why<\/h2> *<p>no<\/p> *<table>/);
  });
  it('a page says where it is below others', () => {
    const { markup } = pageHead({ title: 'Calls', above: [{ path: '/usage', label: 'Usage' }] });
    assert.match(markup, /<a href="\/usage"><bdi>Usage<\/bdi><\/a>.*aria-current="page"><bdi>Calls<\/bdi>/);
    assert.doesNotMatch(pageHead({ title: 'Usage' }).markup, /crumbs|actions/);
  });
  it('a pager leads to the neighbours and the ends, and is not there for one page', () => {
    const at = (page: number) =>
      pager({ page, pageSize: 10, total: 45, hrefOf: (to) => `/p${to}` }).markup.replace(/<[^>]*>|\s+/g, ' ');
    assert.match(at(1), /1–10 of 45 · page 1 of 5 +Next +Last/);
    assert.match(at(3), /First +Previous +Next +Last/);
    assert.match(at(5), /41–45 of 45 · page 5 of 5 +First +Previous +$/);
    assert.equal(pager({ page: 1, pageSize: 10, total: 10, hrefOf: String }).markup, '');
    assert.equal(olderPager({ newest: undefined, older: undefined }).markup, '');
  });
  it('facts leave out what is not known, and figures have their notes', () => {
    assert.equal(facts([['a', undefined]]).markup.includes('<dt>'), false);
    assert.match(figures([{ label: 'Spent', value: '$1', note: 'today' }]).markup, /<dd ?>\$1<small>today<\/small>/);
  });
});

/**
 * [P] A table from its columns and rows. Each column is written once: its heading, what its cells show, and the label
 * that a cell has on a phone, where a row is a card. The first column's cells are the rows' headings.
 */
import { attribute, classAttribute, classes, html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';

export interface Column<Row> {
  /** The heading; also the cells' label. */
  readonly title: string;
  /** The heading is a name that somebody has given. */
  readonly named?: boolean;
  /** Only screen readers see the heading. */
  readonly hidden?: boolean;
  /** Figures, aligned to the right. */
  readonly num?: boolean;
  /** Further classes of the cells. */
  readonly style?: string;
  /** Further classes of the heading and the cells. */
  readonly columnStyle?: string;
  readonly cell: (row: Row, index: number) => Html | string | Cell;
  /** What the last line says, below all rows. */
  readonly foot?: Html | string;
  /** Where the table sorted by this column is. */
  readonly sort?: { readonly href: string; readonly order: 'ascending' | 'descending' | undefined };
}

/** A cell that differs from the others in its column. */
export interface Cell {
  readonly content: Html | string;
  /** How many columns the cell spans; the row has no cells of its own for the others. */
  readonly span?: number;
  readonly label?: string;
  /** "title" of the cell. */
  readonly hint?: string;
}

interface TableOptions<Row> {
  /** Names the box, which keyboards can scroll; undefined: the table never needs to. */
  readonly label?: string;
  /** Above the table for all, or for screen readers only. */
  readonly caption?: Html | string;
  readonly showCaption?: boolean;
  /** The id of the heading that names the table. */
  readonly labelledBy?: string;
  /** On a phone each row is a card. */
  readonly cards?: boolean;
  /** Further classes of the table, and of its box. */
  readonly style?: string;
  readonly boxStyle?: string;
  readonly id?: string;
  /** Attributes of a row. */
  readonly row?: (row: Row) => Html;
  /** Further lines at the end. */
  readonly foot?: Html;
}

/** The table in its box. */
export function table<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  options: TableOptions<Row> = {},
): Html {
  const { label, caption, showCaption = false, labelledBy, cards = false, style, boxStyle, id } = options;
  const region = label === undefined ? NOTHING : html`tabindex="0" role="region" aria-label="${label}"`;
  return html`<div class="${classes('table-box', boxStyle)}" ${region}>
    <table
      class="${classes('table', cards ? 'cards' : undefined, style)}"
      ${attribute('id', id)}
      ${attribute('aria-labelledby', labelledBy)}
    >
      ${
        caption === undefined
          ? NOTHING
          : html`<caption ${showCaption ? NOTHING : html`class="vh"`}>
              ${caption}
            </caption>`
      }
      <thead>
        <tr>
          ${columns.map(heading)}
        </tr>
      </thead>
      <tbody>
        ${rows.map((row, index) => tableRow(columns, row, { index, cards, attributes: options.row?.(row) ?? NOTHING }))}
      </tbody>
      ${tableFoot(columns, options)}
    </table>
  </div>`;
}

function heading<Row>({ title, hidden = false, named = false, num, columnStyle, sort }: Column<Row>): Html {
  const words = hidden ? html`<span class="vh">${title}</span>` : named ? html`<bdi>${title}</bdi>` : html`${title}`;
  const text = sort ? html`<a href="${sort.href}">${words}</a>` : words;
  const order = sort?.order === undefined ? NOTHING : html`aria-sort="${sort.order}"`;
  return html`<th scope="col" ${classAttribute(num === true ? 'num' : undefined, columnStyle)} ${order}>${text}</th>`;
}

interface RowContext {
  readonly index: number;
  readonly cards: boolean;
  readonly attributes: Html;
}

function tableRow<Row>(columns: readonly Column<Row>[], row: Row, { index, cards, attributes }: RowContext): Html {
  let spanned = 0;
  const cells = columns.map((column, at) => {
    if (spanned > 0) {
      spanned--;
      return NOTHING;
    }
    const cell = cellOf(column, row, index);
    spanned = (cell.span ?? 1) - 1;
    return at === 0 ? rowHeading(column, cell, cards) : dataCell(column, cell, cards);
  });
  return html`<tr ${attributes}>
    ${cells}
  </tr>`;
}

function cellOf<Row>({ cell }: Column<Row>, row: Row, index: number): Cell {
  const found = cell(row, index);
  return typeof found === 'object' && 'content' in found ? found : { content: found };
}

function rowHeading<Row>({ style, columnStyle }: Column<Row>, { content }: Cell, cards: boolean): Html {
  return html`<th scope="row" ${classAttribute(cards ? 'main' : undefined, columnStyle, style)}>${content}</th>`;
}

/** A column without a visible heading has no label either. */
function dataCell<Row>(column: Column<Row>, { content, span, label, hint }: Cell, cards: boolean): Html {
  const { title, hidden = false, num, style, columnStyle } = column;
  const attributes = html`${classAttribute(num === true ? 'num' : undefined, columnStyle, style)}
  ${cards && !hidden ? html`data-label="${label ?? title}"` : NOTHING} ${attribute('colspan', span)}
  ${attribute('title', hint)}`;
  return html`<td ${attributes}>${content}</td>`;
}

function tableFoot<Row>(columns: readonly Column<Row>[], { cards = false, foot }: TableOptions<Row>): Html {
  const summed = columns.some((column) => column.foot !== undefined);
  if (!summed && foot === undefined) return NOTHING;
  const cells = columns.map((column, at) => {
    const cell = { content: column.foot ?? NOTHING };
    return at === 0 ? rowHeading(column, cell, cards) : dataCell(column, cell, cards && column.foot !== undefined);
  });
  return html`<tfoot>
    ${
      summed
        ? html`<tr>
            ${cells}
          </tr>`
        : NOTHING
    }
    ${foot ?? NOTHING}
  </tfoot>`;
}

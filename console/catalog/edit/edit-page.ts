/** [P] The page with the form of an object or of an entry in it. */
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { errorSummary, textField } from '../../components/field.ts';
import type { FieldFault } from '../../components/field.ts';
import { formActions, postForm } from '../../components/form.ts';
import { doneNotice } from '../../components/notice.ts';
import { pageHead } from '../../components/page.ts';
import type { HandlerResult } from '../../route.ts';
import { fieldAt } from './fields.ts';
import type { SchemaField } from './fields.ts';
import type { Place } from './places.ts';
import { renderSchemaFields } from './schema-form.ts';

/** The field with the name of an object that is new. */
export const NAME_FIELD = 'metadata.name';

/** One object's part of the form. */
export interface FormPart {
  /** Its heading; undefined: the form has only this part. */
  readonly title?: string;
  readonly place: Place;
  readonly fields: readonly SchemaField[];
}

export interface EditView {
  readonly place: Pick<Place, 'above' | 'active'>;
  /** "Edit price gpt-4o" */
  readonly title: string;
  readonly lede: Html | string;
  /** Where the form is posted. */
  readonly action: string;
  readonly csrf: string;
  readonly hidden: Readonly<Record<string, string | number>>;
  /** What comes before the parts. */
  readonly head: Html;
  readonly parts: readonly FormPart[];
  readonly errors: readonly FieldFault[];
  readonly status: number;
  /** undefined: it was not asked for, or there are errors. */
  readonly preview: Html | undefined;
  readonly done: string | undefined;
  /** The permission that saving takes; undefined: the person has it. */
  readonly missing: Html | undefined;
}

export function editPage(view: EditView): HandlerResult {
  const { place, title, lede, action, csrf, hidden, head, parts, errors, status, preview, done } = view;
  const labelOf = (name: string): string => labelIn(parts, name);
  // the first button of a form is the one that Enter presses
  const fields = html`<button type="submit" class="vh" name="do" value="preview" tabindex="-1" aria-hidden="true">
      Preview
    </button>
    ${head} ${parts.map((part) => renderPart(part, errors))}
    <div id="result">${preview ?? NOTHING}</div>
    ${renderActions(view)}`;
  const body = html`${pageHead({ above: [place.above], title, here: title, lede })} ${doneNotice(done)}
  ${errorSummary(errors, labelOf)}
  ${postForm({ action: `${action}#${preview === undefined ? 'main' : 'result'}`, csrf, hidden, novalidate: true, autocomplete: 'off' }, fields)}`;
  return {
    page: { title, active: place.active, body, styles: ['pricing.css', 'catalog.css'], scripts: ['copy.js'] },
    status,
  };
}

/** The field of an object's name. */
export function nameField(value: string, errors: readonly FieldFault[]): Html {
  return textField({
    field: NAME_FIELD,
    label: 'Name',
    hint: 'Lower-case letters, digits, "-" and ".". It cannot be changed later.',
    value,
    errors,
    attributes: html`type="text" autocomplete="off" spellcheck="false" required`,
  });
}

function renderPart({ title, place, fields }: FormPart, errors: readonly FieldFault[]): Html {
  const body = renderSchemaFields(fields, { errors, usual: place.usual });
  return title === undefined
    ? body
    : html`<fieldset class="schema-object">
        <legend>${title}</legend>
        ${body}
      </fieldset>`;
}

function renderActions({ preview, missing, place, errors }: EditView): Html {
  const cancel = place.above.path;
  if (preview === undefined || errors.length > 0)
    return formActions({ submit: 'Preview', name: 'do', value: 'preview', cancel });
  if (missing)
    return html`<p>${missing}</p>
      ${formActions({ submit: 'Preview again', name: 'do', value: 'preview', cancel })}`;
  const again = html`<button type="submit" class="button" name="do" value="preview">Preview again</button>`;
  return formActions({ submit: 'Save', name: 'do', value: 'save', cancel, others: again });
}

function labelIn(parts: readonly FormPart[], name: string): string {
  if (name === NAME_FIELD) return 'Name';
  const all = parts.flatMap(({ fields }) => fields);
  return fieldAt(all, name)?.label ?? name;
}

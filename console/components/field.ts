/**
 * [P] Form fields with label, hint and errors, linked by aria-describedby so that screen readers read them together,
 * and the error summary, which links to the fields.
 */
import { attribute, html, NOTHING, flag, preformatted } from '#web/html.ts';
import type { Html } from '#web/html.ts';

/** An error in one field; `field` is undefined if the error concerns the whole form. */
export interface FieldFault<Field extends string = string> {
  readonly field: Field | undefined;
  readonly message: string;
}

/** An error's message, after its path unless the message begins with it. */
export function withPath({ path, message }: { readonly path: string; readonly message: string }): string {
  return path === '' || message.startsWith(path) ? message : `${path}: ${message}`;
}

/** The API server's prefix with the value, which the field shows already. */
const REJECTED_VALUE = /^Invalid value: (?:"(?:[^"\\]|\\.)*"|[-\w.]+): /;

/** An API error beside the field that it concerns: the field's label names it, so its name in manifests becomes "It". */
export function fieldMessage({ path, message }: { readonly path: string; readonly message: string }): string {
  const words = message.replace(REJECTED_VALUE, '');
  const [, name = ''] = /(\w+)(?:\[[^\]]*\])?$/.exec(path) ?? [];
  return name !== '' && words.startsWith(`${name} `) ? `It${words.slice(name.length)}` : words;
}

/** The id of a field's control. The ids of its errors and hint add a suffix. */
export function fieldId(field: string): string {
  return `f-${field}`;
}

/** The attributes that tie a control to its hint and its faults. */
export function describedBy(field: string, errors: readonly FieldFault[], hint: boolean): Html {
  const wrong = errors.some((each) => each.field === field);
  const parts = [...(wrong ? [`${fieldId(field)}-fault`] : []), ...(hint ? [`${fieldId(field)}-hint`] : [])];
  const described = parts.length === 0 ? NOTHING : html`aria-describedby="${parts.join(' ')}"`;
  return wrong ? html`aria-invalid="true" ${described}` : described;
}

/** A field's errors, in the order given. `alert`: screen readers announce them at once. */
export function renderErrors(field: string, errors: readonly FieldFault[], alert = false): Html {
  const own = errors.filter((each) => each.field === field);
  if (own.length === 0) return NOTHING;
  return html`<div id="${fieldId(field)}-fault" ${attribute('role', alert ? 'alert' : undefined)}>
    ${own.map(({ message }) => html`<p class="fault">${message}</p>`)}
  </div>`;
}

export function renderHint(field: string, hint: Html | string | undefined): Html {
  return hint === undefined ? NOTHING : html`<p class="hint" id="${fieldId(field)}-hint">${hint}</p>`;
}

export interface TextField {
  readonly field: string;
  readonly label: Html | string;
  readonly value: string;
  readonly errors: readonly FieldFault[];
  readonly hint?: Html | string;
  /** Further attributes of the control. */
  readonly attributes?: Html;
  /** Stands in the control, before or behind its text. */
  readonly prefix?: string;
  readonly suffix?: string;
  readonly short?: boolean;
  /** What belongs below the control. */
  readonly below?: Html;
  /** Screen readers announce the errors at once, as in a form of one field, which has no summary. */
  readonly alert?: boolean;
}

/** A labelled line of text. */
export function textField({
  field,
  label,
  value,
  errors,
  hint,
  attributes = html`type="text"`,
  prefix,
  suffix,
  short = false,
  below = NOTHING,
  alert = false,
}: TextField): Html {
  const input = html`<input
    id="${fieldId(field)}"
    name="${field}"
    value="${value}"
    ${attributes}
    ${describedBy(field, errors, hint !== undefined)}
  />`;
  const control =
    prefix === undefined && suffix === undefined
      ? input
      : html`<div class="affix">
          ${prefix === undefined ? NOTHING : html`<span>${prefix}</span>`} ${input}
          ${suffix === undefined ? NOTHING : html`<span>${suffix}</span>`}
        </div>`;
  return html`<div class="field${short ? ' short' : ''}">
    <label for="${fieldId(field)}">${label}</label>
    ${renderHint(field, hint)} ${control} ${below} ${renderErrors(field, errors, alert)}
  </div>`;
}

interface Option {
  readonly value: string;
  readonly label: Html | string;
}

interface SelectField extends Omit<TextField, 'prefix' | 'suffix' | 'attributes' | 'alert'> {
  readonly options: readonly Option[];
}

/** A labelled select. A value that is not among the options selects none. */
export function selectField({
  field,
  label,
  value,
  errors,
  hint,
  options,
  short = true,
  below = NOTHING,
}: SelectField): Html {
  return html`<div class="field${short ? ' short' : ''}">
    <label for="${fieldId(field)}">${label}</label>
    ${renderHint(field, hint)}
    <select id="${fieldId(field)}" name="${field}" ${describedBy(field, errors, hint !== undefined)}>
      ${options.map(
        (option) =>
          html`<option value="${option.value}" ${option.value === value ? html`selected` : NOTHING}>
            ${option.label}
          </option>`,
      )}
    </select>
    ${below} ${renderErrors(field, errors)}
  </div>`;
}

interface TextArea extends Pick<TextField, 'field' | 'label' | 'value' | 'errors' | 'hint'> {
  readonly rows: number;
  /** It takes the height that is there. */
  readonly tall?: boolean;
}

/** Several lines of text that has a syntax. */
export function textArea({ field, label, value, errors, hint, rows, tall = false }: TextArea): Html {
  return html`<div class="field${tall ? ' tall' : ''}">
    <label for="${fieldId(field)}">${label}</label>
    ${renderHint(field, hint)}
    <textarea
      id="${fieldId(field)}"
      name="${field}"
      rows="${rows}"
      class="mono"
      spellcheck="false"
      autocapitalize="off"
      required
      ${describedBy(field, errors, hint !== undefined)}
    >
${preformatted(value)}</textarea>
    ${renderErrors(field, errors)}
  </div>`;
}

interface SwitchField {
  readonly field: string;
  readonly label: string;
  readonly on: boolean;
  readonly errors: readonly FieldFault[];
  readonly hint: string;
  readonly below?: Html;
}

/** On or off. */
export function switchField({ field, label, on, errors, hint, below = NOTHING }: SwitchField): Html {
  return html`<div class="field">
    <label class="choice key-enabled" for="${fieldId(field)}">
      <input
        type="checkbox"
        class="switch"
        role="switch"
        id="${fieldId(field)}"
        name="${field}"
        value="true"
        ${flag('checked', on)}
        ${describedBy(field, errors, true)}
      />
      <span>${label}</span>
    </label>
    ${renderHint(field, hint)} ${below} ${renderErrors(field, errors)}
  </div>`;
}

interface ChoiceField {
  readonly field: string;
  /** The posted name, where it is not the field's. */
  readonly name?: string;
  readonly label: string;
  readonly value: string;
  readonly errors: readonly FieldFault[];
  readonly hint?: Html | string;
  readonly choices: readonly {
    readonly value: string;
    readonly label: Html | string;
    readonly note?: Html | string | undefined;
  }[];
  /** Further classes. */
  readonly style?: string;
  /** What belongs below the choices. */
  readonly below?: Html;
}

/** One of a few choices, all of them in sight. */
export function choiceField({
  field,
  name = field,
  label,
  value,
  errors,
  hint,
  choices,
  style = '',
  below = NOTHING,
}: ChoiceField): Html {
  return html`<fieldset
    class="choices${style === '' ? '' : ` ${style}`}"
    id="${fieldId(field)}"
    tabindex="-1"
    ${describedBy(field, errors, false)}
  >
    <legend>${label}</legend>
    ${hint === undefined ? NOTHING : html`<p class="hint">${hint}</p>`}
    ${choices.map(
      (choice) =>
        html`<label class="choice">
          <input type="radio" name="${name}" value="${choice.value}" ${flag('checked', choice.value === value)} />
          <span
            >${choice.label}${
              choice.note === undefined || choice.note === '' ? NOTHING : html`<small>${choice.note}</small>`
            }</span
          >
        </label>`,
    )}
    ${below} ${renderErrors(field, errors)}
  </fieldset>`;
}

/** All errors of a form, each with a link to its field; empty if there are none. */
export function errorSummary<F extends string>(
  errors: readonly { readonly field: F | undefined; readonly message: string }[],
  labelOf: (field: F) => string,
): Html {
  if (errors.length === 0) return NOTHING;
  return html`<div class="error-summary" role="alert" id="error-summary" tabindex="-1">
    <h2>Nothing was changed yet</h2>
    <ul>
      ${errors.map(
        ({ field, message }) =>
          html`<li>
            ${field === undefined ? message : html`<a href="#${fieldId(field)}">${labelOf(field)}: ${message}</a>`}
          </li>`,
      )}
    </ul>
  </div>`;
}

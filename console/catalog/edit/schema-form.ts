/** [P] The controls of a form over a schema. It works without scripts: buttons that add or remove an entry are posted. */
import { flag, html, NOTHING, preformatted } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { describedBy, fieldId, renderErrors, renderHint, selectField, textField } from '../../components/field.ts';
import type { FieldFault } from '../../components/field.ts';
import { isAtOrBelow, optionName, presenceName } from './fields.ts';
import type { ObjectField, SchemaField } from './fields.ts';

type FieldOf<K extends SchemaField['kind']> = Extract<SchemaField, { readonly kind: K }>;

interface SchemaForm {
  readonly errors: readonly FieldFault[];
  /** The last parts of the names of optional fields that are in sight before they have a value. */
  readonly usual: readonly string[];
}

/** The fields of one object: those in use and the usual ones, then the rest in a fold. */
export function renderSchemaFields(fields: readonly SchemaField[], form: SchemaForm): Html {
  const isShown = (field: SchemaField): boolean =>
    field.required ||
    field.isSet ||
    hasError(field, form) ||
    form.usual.some((name) => field.name.endsWith(`.${name}`));
  const rest = fields.filter((field) => !isShown(field));
  return html`${fields.filter(isShown).map((field) => renderField(field, form))}
  ${
    rest.length === 0
      ? NOTHING
      : html`<details class="fold schema-rest">
          <summary>More settings</summary>
          ${rest.map((field) => renderField(field, form))}
        </details>`
  }`;
}

function renderField(field: SchemaField, form: SchemaForm): Html {
  switch (field.kind) {
    case 'Text':
    case 'Choice':
      return renderControl(field, form);
    case 'Set':
      return renderSet(field, form);
    case 'Lines':
      return renderLines(field, form);
    case 'Object':
      return renderObject(field, form);
    case 'List':
      return renderList(field, form);
  }
}

function renderControl(field: FieldOf<'Text' | 'Choice'>, { errors }: SchemaForm): Html {
  const { name, hint, required, value } = field;
  const label = required ? field.label : html`${field.label} <small>optional</small>`;
  const common = { field: name, label, hint, errors, value };
  if (field.kind === 'Text') {
    const keyboard = field.isNumber ? html`inputmode="numeric"` : NOTHING;
    const attributes = html`type="text" ${flag('required', required)} ${keyboard} autocomplete="off"`;
    return textField({ ...common, attributes, short: field.isNumber });
  }
  const none = { value: '', label: field.byDefault === '' ? 'Not set' : `Default: ${field.byDefault}` };
  const isOpen = !required || value === '';
  return selectField({ ...common, options: [...(isOpen ? [none] : []), ...field.options.map(asOption)] });
}

function asOption(value: string): { readonly value: string; readonly label: string } {
  return { value, label: value };
}

function renderSet({ name, label, hint, values, options }: FieldOf<'Set'>, { errors }: SchemaForm): Html {
  return html`<fieldset class="choices" id="${fieldId(name)}" tabindex="-1" ${describedBy(name, errors, false)}>
    <legend>${label}</legend>
    <p class="hint">${hint}</p>
    ${options.map(
      (option) =>
        html`<label class="choice">
          <input type="checkbox" name="${optionName(name, option)}" ${flag('checked', values.includes(option))} />
          <span>${option}</span>
        </label>`,
    )}
    ${renderErrors(name, errors)}
  </fieldset>`;
}

function renderLines({ name, label, hint, value, isMap }: FieldOf<'Lines'>, { errors }: SchemaForm): Html {
  const rows = Math.min(8, Math.max(2, value.split('\n').length));
  return html`<div class="field">
    <label for="${fieldId(name)}">${label} <small>one per line${isMap ? ', as name=value' : ''}</small></label>
    ${renderHint(name, hint)}
    <textarea id="${fieldId(name)}" name="${name}" rows="${rows}" spellcheck="false" ${describedBy(name, errors, true)}>
${preformatted(value)}</textarea>
    ${renderErrors(name, errors)}
  </div>`;
}

/** An object that nobody has set is closed; one that may be empty has a mark by which it is there. */
function renderObject(field: ObjectField, form: SchemaForm): Html {
  const { name, label, hint, required, isSet, fields, mayBeEmpty } = field;
  const mark = html`<label class="choice">
    <input type="checkbox" name="${presenceName(name)}" ${flag('checked', isSet)} />
    <span>Set it: without a field below, it selects everything</span>
  </label>`;
  const body = html`<p class="hint">${hint}</p>
    ${renderErrors(name, form.errors)} ${mayBeEmpty ? mark : NOTHING}
    ${renderSchemaFields(fields, { ...form, usual: [] })}`;
  return required
    ? html`<fieldset class="schema-object" id="${fieldId(name)}" tabindex="-1">
        <legend>${label}</legend>
        ${body}
      </fieldset>`
    : html`<details
        class="fold schema-object"
        id="${fieldId(name)}"
        tabindex="-1"
        ${flag('open', isSet || hasError(field, form))}
      >
        <summary>${label}</summary>
        ${body}
      </details>`;
}

function renderList(field: FieldOf<'List'>, form: SchemaForm): Html {
  const { name, label, hint, items, itemLabel } = field;
  return html`<fieldset
    class="schema-object"
    id="${fieldId(name)}"
    tabindex="-1"
    ${describedBy(name, form.errors, false)}
  >
    <legend>${label}</legend>
    <p class="hint">${hint}</p>
    ${renderErrors(name, form.errors)} ${items.map((item) => renderItem(item, form))}
    <button type="submit" class="button small" name="add" value="${name}">Add ${itemLabel.toLowerCase()}</button>
  </fieldset>`;
}

function renderItem({ name, label, fields }: ObjectField, form: SchemaForm): Html {
  return html`<fieldset class="schema-object" id="${fieldId(name)}" tabindex="-1">
    <legend>${label}</legend>
    <input type="hidden" name="${presenceName(name)}" value="" />
    ${renderErrors(name, form.errors)} ${renderSchemaFields(fields, { ...form, usual: [] })}
    <button type="submit" class="button small" name="remove" value="${name}">
      Remove<span class="vh"> ${label.toLowerCase()}</span>
    </button>
  </fieldset>`;
}

function hasError({ name }: SchemaField, { errors }: SchemaForm): boolean {
  return errors.some(({ field }) => field !== undefined && isAtOrBelow(field, name));
}

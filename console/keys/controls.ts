/** [P] The controls of a key's form that are more than a line or a list: account, group and models. */
import { flag, html, NOTHING, preformatted } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { formatUsdDown, pluralize } from '#web/format.ts';
import {
  choiceField,
  describedBy,
  fieldId,
  renderErrors,
  renderHint,
  selectField,
  textField,
} from '../components/field.ts';
import type { FieldFault } from '../components/field.ts';
import type { GroupChoice } from '../queries/group-choices.ts';
import { idOf } from './payers.ts';
import type { Payer } from './payers.ts';

/** What a control is told besides its own values. */
export interface ControlView {
  readonly errors: readonly FieldFault[];
  /** What somebody else has changed meanwhile. */
  readonly note: Html;
  /** Controls that belong inside this one. */
  readonly within: Html;
  /** Empty: none admits the namespace. */
  readonly groups: readonly GroupChoice[];
  /** Of a new key. */
  readonly accounts?: AccountChoices;
}

/** The accounts that a new key can spend from. */
export interface AccountChoices {
  /** undefined: the person may not see accounts, and types the name. */
  readonly payers: readonly Payer[] | undefined;
  /** "namespace/name"; empty: none. */
  readonly chosenPayer: string;
  /** Where the person may create keys. */
  readonly namespaces: readonly string[];
  /** Those of them that have no account although the person may create one. */
  readonly withoutAccount: readonly string[];
}

type LabelledView = ControlView & { readonly label: string };

export const OBJECT_NAME = html`type="text" maxlength="253" autocomplete="off" autocapitalize="off" spellcheck="false"`;
/** With more accounts than this, the form has a text field instead of a list. */
const MAX_LISTED = 200;

/** The account says in which namespace the key is, too. */
export function accountControl(
  parts: { readonly namespace: string; readonly account: string },
  { label, errors, accounts }: LabelledView,
): Html {
  if (!accounts) return NOTHING;
  const { payers } = accounts;
  if (payers === undefined) return typedAccount(parts, { label, errors, namespaces: accounts.namespaces });
  const list = payers.length > MAX_LISTED ? accountSearch : accountList;
  return html`<input type="hidden" name="namespace" value="${parts.namespace}" /> ${list(payers, {
      label,
      errors,
      ...accounts,
    })}${withoutAccountHint(parts.namespace, accounts)}`;
}

function withoutAccountHint(namespace: string, { withoutAccount }: AccountChoices): Html {
  const [first] = withoutAccount;
  if (first === undefined) return NOTHING;
  const asked = withoutAccount.includes(namespace);
  const words =
    asked || withoutAccount.length === 1
      ? html`The namespace <bdi>${asked ? namespace : first}</bdi> has no account.`
      : html`${withoutAccount.length} of your namespaces have no account.`;
  return html`<p class="hint" id="without-account">
    ${words} <a href="/wallet/new?next=key&amp;namespace=${asked ? namespace : first}">Create account</a>
  </p>`;
}

const ACCOUNT_HINT = 'Pays for the calls. It cannot be changed later.';

interface AccountList extends Pick<AccountChoices, 'chosenPayer' | 'namespaces'> {
  readonly label: string;
  readonly errors: readonly FieldFault[];
}

function accountList(payers: readonly Payer[], { label, errors, chosenPayer, namespaces }: AccountList): Html {
  const known = payers.some((payer) => idOf(payer) === chosenPayer);
  return html`<div class="field">
    <label for="${fieldId('account')}">${label}</label>
    ${renderHint('account', ACCOUNT_HINT)}
    <select id="${fieldId('account')}" name="account" required ${describedBy('account', errors, true)}>
      ${known ? NOTHING : html`<option value="">Choose an account</option>`}${payers.map(
        (payer) =>
          html`<option
            value="${idOf(payer)}"
            data-namespace="${payer.namespace}"
            ${flag('selected', idOf(payer) === chosenPayer)}
          >
            ${payerLabel(payer, namespaces.length > 1)}
          </option>`,
      )}
    </select>
    ${renderErrors('account', errors)}
  </div>`;
}

function payerLabel({ namespace, name, balanceNanoUsd }: Payer, several: boolean): string {
  const left = balanceNanoUsd < 0n ? 'overdrawn' : `${formatUsdDown(balanceNanoUsd)} left`;
  return `${several ? `${namespace} / ` : ''}${name} · ${left}`;
}

function accountSearch(payers: readonly Payer[], { label, errors, chosenPayer }: AccountList): Html {
  return html`${textField({
      field: 'account',
      label,
      value: chosenPayer,
      errors,
      attributes: html`${OBJECT_NAME} required list="payers" placeholder="namespace/name"`,
      hint: ACCOUNT_HINT,
    })}<datalist id="payers">
      ${payers.map((payer) => html`<option value="${idOf(payer)}">${payerLabel(payer, true)}</option>`)}
    </datalist>`;
}

function typedAccount(
  { namespace, account }: { readonly namespace: string; readonly account: string },
  { label, errors, namespaces }: Omit<AccountList, 'chosenPayer'>,
): Html {
  const name = textField({
    field: 'account',
    label,
    value: account,
    errors,
    short: true,
    attributes: html`${OBJECT_NAME} required`,
    hint: 'Pays for the calls. You may not see the accounts of this namespace; ask for the name of yours.',
  });
  if (namespaces.length === 1) return html`<input type="hidden" name="namespace" value="${namespace}" /> ${name}`;
  return html`${selectField({
    field: 'namespace',
    label: 'Namespace',
    value: namespace,
    errors,
    options: [
      ...(namespace === '' ? [{ value: '', label: 'Choose a namespace' }] : []),
      ...namespaces.map((value) => ({ value, label: value })),
    ],
  })}
  ${name}`;
}

/** The number of names that are shown at once; the others are folded. */
const MODELS_SHOWN = 4;

/** A list to choose from, or a line to type in where there is none yet. */
export function groupControl(
  { group }: { readonly group: string },
  { label, errors, groups, note }: LabelledView,
): Html {
  if (groups.length === 0)
    return textField({
      field: 'group',
      label,
      value: group,
      errors,
      hint: 'No group admits keys of this namespace. Ask the platform team for one.',
      short: true,
      attributes: html`type="text" required maxlength="253" autocomplete="off" spellcheck="false" class="mono"`,
      below: note,
    });
  return html`<fieldset
    class="choices key-groups"
    id="${fieldId('group')}"
    tabindex="-1"
    ${describedBy('group', errors, false)}
  >
    <legend>${label}</legend>
    <p class="hint">Decides the models, and multiplies their prices.</p>
    ${groups.map((each, index) => renderChoice(each, index, group))} ${note} ${renderErrors('group', errors)}
  </fieldset>`;
}

function renderChoice(group: GroupChoice, index: number, chosen: string): Html {
  const id = `group-${index}`;
  return html`<div
    class="key-group"
    ${group.onlyIn === undefined ? NOTHING : html`data-namespaces="${group.onlyIn.join(' ')}"`}
  >
    <label class="choice" for="${id}">
      <input
        type="radio"
        id="${id}"
        name="group"
        value="${group.name}"
        required
        ${flag('checked', group.name === chosen)}
      />
      <span class="key-group-name"
        ><bdi>${group.displayName}</bdi>${
          group.displayName === group.name ? NOTHING : html` <small class="mono"><bdi>${group.name}</bdi></small>`
        }</span
      >
      ${
        group.ratio === ''
          ? NOTHING
          : html`<span class="key-group-ratio" title="Every price is multiplied by ${group.ratio}"
              >× ${group.ratio}</span
            >`
      }
    </label>
    ${group.warning === undefined ? NOTHING : html`<p class="key-group-note warn">${group.warning}</p>`}${
      group.onlyIn === undefined
        ? NOTHING
        : html`<p class="key-group-note key-group-only">Only for keys of ${group.onlyIn.join(', ')}.</p>`
    }${renderGroupModels(group)}
  </div>`;
}

function renderGroupModels({ models, warning }: GroupChoice): Html {
  if (models.length === 0)
    return warning === undefined
      ? html`<p class="key-group-note">No model can be called through it at the moment.</p>`
      : NOTHING;
  const few = models.length <= MODELS_SHOWN + 1;
  const names = (list: readonly string[]): Html =>
    html`<ul class="tags">
      ${list.map((name) => html`<li class="badge"><bdi>${name}</bdi></li>`)}
    </ul>`;
  if (few) return html`<div class="key-group-note">${names(models)}</div>`;
  return html`<div class="key-group-note">
    ${names(models.slice(0, MODELS_SHOWN))}
    <details class="fold">
      <summary>${pluralize(models.length - MODELS_SHOWN, 'more model')}</summary>
      ${names(models.slice(MODELS_SHOWN))}
    </details>
  </div>`;
}

interface ModelParts {
  readonly restricted: boolean;
  readonly models: readonly string[];
}

/** Boxes to tick for the models of the groups that can be chosen, or lines to type in where they are not known. */
export function modelsControl(parts: ModelParts, { label, errors, groups, note }: LabelledView): Html {
  const known = groups.some(({ models }) => models.length > 0);
  const names = known ? renderBoxes(parts, groups) : renderLines(parts, errors);
  return choiceField({
    field: 'models',
    name: 'allowed',
    label,
    value: parts.restricted ? 'Some' : 'All',
    errors,
    style: 'key-models',
    choices: [
      { value: 'All', label: 'All models of the group, including later ones' },
      { value: 'Some', label: 'Only these' },
    ],
    below: html`<div class="key-models-more">${names}</div>
      ${note}`,
  });
}

/** Names that the key lists although no group has them are shown too, ticked. */
function renderBoxes({ models: typed }: ModelParts, groups: readonly GroupChoice[]): Html {
  const holders = new Map<string, string[]>();
  for (const { name, models } of groups)
    for (const model of models) holders.set(model, [...(holders.get(model) ?? []), name]);
  const names = [...new Set([...holders.keys(), ...typed])].sort();
  const single = groups.length === 1;
  return html`<div class="key-model-list" role="group" aria-label="Models that this key may call">
    ${names.map((name) => {
      const groupNames = holders.get(name);
      const note = groupNames === undefined ? 'in none of these groups' : groupNames.join(', ');
      return html`<label class="choice" data-groups="${(groupNames ?? []).join(' ')}">
        <input type="checkbox" name="model" value="${name}" ${flag('checked', typed.includes(name))} />
        <span
          ><bdi class="mono">${name}</bdi>${
            single && groupNames !== undefined ? NOTHING : html` <small>${note}</small>`
          }</span
        >
      </label>`;
    })}
  </div>`;
}

function renderLines({ models }: ModelParts, errors: readonly FieldFault[]): Html {
  return html`<div class="field">
    <label for="models-text" class="vh">Models, one per line</label>
    ${renderHint('models', 'One name per line, exactly as the price page has them.')}
    <textarea
      id="models-text"
      name="models"
      rows="4"
      class="mono"
      spellcheck="false"
      autocapitalize="off"
      ${describedBy('models', errors, true)}
    >
${preformatted(models.join('\n'))}</textarea>
  </div>`;
}

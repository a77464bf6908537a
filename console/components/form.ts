/** [P] Forms: those that are posted, with the session's token, and those that lead to a page. */
import { classAttribute, attribute, html, NOTHING, flag } from '#web/html.ts';
import type { Html } from '#web/html.ts';

/** The field's name; the server takes it out of the form before a handler sees it. */
export const CSRF_FIELD = 'csrf';

interface PostForm {
  readonly action: string;
  /** The request's form token, without which the server takes no form of a session; undefined: nobody is signed in. */
  readonly csrf: string | undefined;
  readonly id?: string;
  /** Default: the style of forms with fields. */
  readonly style?: string;
  /** Fields that nobody sees. */
  readonly hidden?: Readonly<Record<string, string | number>>;
  /** The server shows all errors at once, so the browser shows none. */
  readonly novalidate?: boolean;
  /** The browser suggests nothing that was typed before. */
  readonly autocomplete?: 'off';
  /** What it searches, for screen readers; undefined: it is no search. */
  readonly search?: string;
}

/** The form around its fields and buttons. */
export function postForm(
  { action, csrf, id, style = 'form', hidden = {}, novalidate = false, autocomplete, search }: PostForm,
  body: Html,
): Html {
  return html`<form
    ${classAttribute(style)}
    ${attribute('id', id)}
    method="post"
    action="${action}"
    ${attribute('autocomplete', autocomplete)}
    ${flag('novalidate', novalidate)}
    ${search === undefined ? NOTHING : html`role="search" aria-label="${search}"`}
  >
    ${csrf === undefined ? NOTHING : html`<input type="hidden" name="${CSRF_FIELD}" value="${csrf}" />`}
    ${Object.entries(hidden).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)}
    ${body}
  </form>`;
}

interface ChoiceForm {
  readonly action: string;
  readonly id?: string;
  /** Further classes. */
  readonly style?: string;
  /** The button's label. */
  readonly button: string;
  /** Behind the button. */
  readonly others?: Html;
}

/** A line with a choice that leads to the page of what is chosen. */
export function choiceForm({ action, id, style, button, others = NOTHING }: ChoiceForm, field: Html): Html {
  return html`<form ${classAttribute('toolbar', style)} ${attribute('id', id)} method="get" action="${action}">
    ${field}
    <button type="submit" class="button">${button}</button>
    ${others}
  </form>`;
}

interface FormActions {
  readonly submit: string;
  /** What the button posts. */
  readonly name?: string;
  readonly value?: string;
  /** Further classes of the button. */
  readonly tone?: string;
  /** Where Cancel leads, or the button that closes the dialog; undefined: the form has none. */
  readonly cancel?: string | Html;
  /** Between them. */
  readonly others?: Html;
}

/** The buttons at a form's end. */
export function formActions({ submit, name, value, tone = 'primary', cancel, others = NOTHING }: FormActions): Html {
  return html`<div class="form-actions">
    <button type="submit" class="button ${tone}" ${attribute('name', name)} ${attribute('value', value)}>
      ${submit}
    </button>
    ${others} ${typeof cancel === 'string' ? html`<a class="button" href="${cancel}">Cancel</a>` : (cancel ?? NOTHING)}
  </div>`;
}

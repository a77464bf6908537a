/** Copy buttons. They stay hidden where the clipboard is not available. */
if (navigator.clipboard) {
  for (const button of document.querySelectorAll('button[data-copy]')) button.hidden = false;
}

document.addEventListener('click', (event) => {
  const button = event.target.closest?.('button[data-copy]');
  if (button) void copy(button);
});

document.addEventListener('console:changed', ({ detail }) => {
  if (navigator.clipboard) for (const button of detail.querySelectorAll('button[data-copy]')) button.hidden = false;
});

const STAYS_MS = 2_000;
/** Says to screen readers what was done; made at the first copy. */
let said;

function announce(text) {
  if (!said) {
    said = document.createElement('p');
    said.className = 'vh';
    said.setAttribute('role', 'status');
    document.body.append(said);
  }
  said.textContent = text;
}

async function copy(button) {
  const source = document.getElementById(button.dataset.copy);
  const words = button.innerHTML;
  try {
    await navigator.clipboard.writeText(source.textContent);
    button.textContent = 'Copied';
    announce('Copied');
  } catch {
    getSelection().selectAllChildren(source);
    button.textContent = 'Selected';
    announce('Selected; copy it with the keyboard');
  }
  button.disabled = true;
  setTimeout(() => {
    button.innerHTML = words;
    button.disabled = false;
    announce('');
  }, STAYS_MS);
}

// What scrolls can be reached by keyboard. Lists of pages within the navigation, and the buttons on
// a block of code, are parts of something, not landmarks of the page.
const reach = () => {
  for (const part of document.querySelectorAll("pre, pre > code, .md-typeset__scrollwrap"))
    if (part.scrollWidth > part.clientWidth && part.tabIndex < 0) part.tabIndex = 0;
  for (const list of document.querySelectorAll("nav.md-nav nav.md-nav, nav.md-code__nav"))
    if (list.getAttribute("role") !== "none") {
      for (const name of ["aria-label", "aria-labelledby", "aria-expanded"])
        list.removeAttribute(name);
      list.setAttribute("role", "none");
    }
};
addEventListener("load", reach);
addEventListener("resize", reach);
new MutationObserver(reach).observe(document.documentElement, { childList: true, subtree: true });

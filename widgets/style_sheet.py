"""The style sheet that `palette` fills with a theme's colours (``@name``); no colour lives here."""

from __future__ import annotations

STYLE_SHEET = """
QToolBar { border: none; padding: 6px 8px 4px 8px; }
QMainWindow::separator { background: transparent; width: 6px; height: 6px; }
QDockWidget::title { padding: 3px 10px; text-align: left; }
QFrame[card="true"] {
    background: @card; border: 1px solid @hairline; border-radius: 8px;
}
QLabel { background: transparent; }
QLabel[role="title"] { font-weight: 600; }
QLabel[role="muted"] { color: @muted; }
QLabel[role="error"] { color: @error; }
QToolTip {
    background: @card; color: @text; border: 1px solid @hairline; padding: 4px 6px;
}

QPushButton[pill="true"], QToolButton[pill="true"] {
    background: @card; color: @text; border: 1px solid @hairline; border-radius: 7px;
    padding: 4px 12px; min-height: 18px;
}
QToolButton[pill="true"] { padding: 4px 7px; }
QPushButton[small="true"] { padding: 1px 10px; min-height: 14px; }
QToolButton[pill="true"]::menu-indicator { image: none; }
QPushButton[pill="true"]:hover, QToolButton[pill="true"]:hover { background: @hover; }
QPushButton[pill="true"]:focus, QToolButton[pill="true"]:focus { border-color: @accent; }
QPushButton[pill="true"]:checked, QToolButton[pill="true"]:checked {
    background: @accent; color: @on_accent; border-color: @accent;
}
QPushButton[pill="true"]:pressed, QToolButton[pill="true"]:pressed { background: @accent_soft; }
QPushButton[pill="true"]:disabled, QToolButton[pill="true"]:disabled {
    color: @faint; background: transparent;
}

QSlider { min-height: 18px; background: transparent; }
QSlider::groove:horizontal { height: 4px; border-radius: 2px; background: @track; }
QSlider::sub-page:horizontal { height: 4px; border-radius: 2px; background: @accent; }
QSlider::sub-page:horizontal:disabled { background: @track; }
QSlider::handle:horizontal {
    width: 12px; height: 12px; margin: -5px 0; border-radius: 7px;
    background: @card; border: 1px solid @accent;
}
QSlider::handle:horizontal:hover { background: @hover; }
QSlider::handle:horizontal:focus { background: @accent; }
QSlider::handle:horizontal:disabled { border-color: @track; }

QLineEdit, QPlainTextEdit {
    background: @card; color: @text; border: 1px solid @hairline; border-radius: 5px;
    padding: 3px 6px; selection-background-color: @accent; selection-color: @on_accent;
}
QLineEdit:focus, QPlainTextEdit:focus { border-color: @accent; }
QLineEdit[invalid="true"] { border-color: @error; }

QProgressBar { border: none; background: transparent; max-height: 3px; min-height: 3px; }
QProgressBar::chunk { background: @accent; border-radius: 1px; }
QScrollArea, QAbstractScrollArea[flat="true"] { background: transparent; border: none; }
QScrollBar:vertical { background: transparent; width: 10px; margin: 0; }
QScrollBar:horizontal { background: transparent; height: 10px; margin: 0; }
QScrollBar::handle { background: @track; border-radius: 4px; margin: 1px; }
QScrollBar::handle:vertical { min-height: 24px; }
QScrollBar::handle:horizontal { min-width: 24px; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
"""
